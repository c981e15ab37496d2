// Starts Postgres and Redis for the whole run. Tests find them in TEST_POSTGRES_URL and TEST_REDIS_URL. Those with MariaDB
// start their own, from the tables in the folder TEST_MARIADB.
import { findProgram, howToInstall, isMissing, PROGRAMS } from './programs.js';
import { prepareMariadb, startPostgres, startRedis } from './services.js';

export default async function globalSetup() {
  // Not from outside: a test may empty what it finds here.
  for (const { variable } of Object.values(PROGRAMS)) if (variable) delete process.env[variable];
  const running = await Promise.all([
    start('TEST_POSTGRES_URL', () =>
      startPostgres(['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']),
    ),
    findProgram('redis-server') && start('TEST_REDIS_URL', () => startRedis()),
    findProgram('mariadbd') && start('TEST_MARIADB', prepareMariadb),
  ]);
  globalThis.stopServices = () => Promise.all(running.map((service) => service?.stop()));
  const missing = Object.keys(PROGRAMS).filter(isMissing);
  if (process.env.CI !== 'true' || missing.length === 0) return;
  await globalThis.stopServices();
  throw new Error(`CI lacks ${missing.join(', ')}. Install: ${howToInstall(missing)}`);
}

/** What does not start is skipped like what is not installed; the closing line counts the tests. */
async function start(variable, run) {
  try {
    const service = await run();
    process.env[variable] = service.url;
    return service;
  } catch (error) {
    process.stderr.write(`No ${variable}: ${error.message}\n`);
    return undefined;
  }
}
