// `npm run test:faults -- --sql`: for each client of sqlStore(), workers, connections and the database are killed while
// handlers write inside `once`.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { bundleTo } from '../../setup/bundle.js';
import {
  copySqlClients,
  hasMariadb,
  SQL_CLIENTS,
  SQL_PACKAGES,
  type SqlClient,
} from '../../setup/sql-adapters.js';
import { until } from '../../setup/waiting.js';
import { deliverUnderFaults } from './deliveries.js';
import { bundleProgram, type Campaign, runAndJudge } from './environment.js';
import { planFaults, WORKER_FAULTS } from './nemesis.js';
import { type ReportOptions, report } from './report.js';
import { startSqlServer } from './sql-server.js';

/** Of each of its three kinds of fault, and at least so many events. */
const [FAULTS, EVENTS] = [20, 500];
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** In .scratch, so that what is installed there is found before what the repository has. */
const FOLDER = join(ROOT, '.scratch/sql-clients');

type SqlCampaign = Campaign & { readonly client: string; readonly database: string };

/** @param only the name of a client; undefined: all of them */
export async function runSqlClients(
  only: string | undefined,
  options: ReportOptions,
): Promise<SqlCampaign[]> {
  const clients = SQL_CLIENTS.filter(({ name }) => only === undefined || name === only);
  if (clients.length === 0) {
    const names = SQL_CLIENTS.map(({ name }) => name).join(', ');
    throw new Error(`--client is "${only}". Pass one of: ${names}.`);
  }
  const app = await install(options.progress);
  const rows: SqlCampaign[] = [];
  for (const client of clients) {
    if (client.server === 'MariaDB' && !hasMariadb()) {
      process.stdout.write(`${client.name}: skipped, because mariadbd is not installed\n`);
      continue;
    }
    const row = await runSqlCampaign(client, app, options.progress);
    rows.push({ client: client.name, database: client.server, ...row });
    report({ name: `${client.name} with ${client.server}`, ...row }, options);
  }
  return rows;
}

/** Installs what is not installed yet. */
async function install(progress: (line: string) => void): Promise<string> {
  mkdirSync(FOLDER, { recursive: true });
  const stamp = join(FOLDER, '.installed');
  const wanted = SQL_PACKAGES.join(' ');
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
    progress(`installing ${wanted}`);
    writeFileSync(join(FOLDER, 'package.json'), '{ "private": true }');
    const quickly = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
    await promisify(execFile)('npm', ['install', ...quickly, ...SQL_PACKAGES], { cwd: FOLDER });
    writeFileSync(stamp, wanted);
  }
  return copySqlClients(ROOT, FOLDER);
}

function runSqlCampaign(
  { name, server }: SqlClient,
  app: string,
  progress: (line: string) => void,
): Promise<Campaign> {
  return runAndJudge(async (defer) => {
    const program = bundleProgram('./sql-worker.ts', defer);
    // The module that the worker imports for this client.
    const ledger = join(app, `ledger-${name}.mjs`);
    bundleTo(join(app, `ledger-${name}.ts`), ledger);
    const { service, store, terminate, readLedger } = await startSqlServer(server, defer);
    await store.migrate();
    const restart = server === 'MariaDB' ? 'restart mariadb' : 'restart postgres';
    const { history } = await deliverUnderFaults({
      campaign: { mode: name, once: true },
      program,
      env: { LEDGER: ledger, DATABASE_URL: service.url, MYSQL_URL: service.url },
      events: EVENTS,
      faults: planFaults<string>(
        { kill: FAULTS, 'terminate connection': FAULTS, [restart]: FAULTS },
        {
          ...WORKER_FAULTS,
          'terminate connection': () => until(terminate),
          [restart]: () => service.crash(),
        },
      ),
      ledger: readLedger,
      progress: (line) => progress(`${name}: ${line}`),
    });
    return { history };
  });
}
