// `npm run test:faults -- --sql`: a campaign for each client of sqlStore(), and their figures.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { bundle, bundleTo } from '../setup/bundle.js';
import { table, today, writeFigures } from '../setup/figures.js';
import { copySqlClients, hasMariadb, SQL_CLIENTS, SQL_PACKAGES } from '../setup/sql-adapters.js';
import { type ReportOptions, report } from './report.js';
import { runSqlCampaign, type SqlCampaign } from './sql-campaign.js';

/** Of each of its three kinds of fault, and at least so many events. */
const SIZE = { faults: 20, events: 500 };
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** In .scratch, so that what is installed there is found before what the repository has. */
const FOLDER = join(ROOT, '.scratch/sql-clients');
const PAGE = new URL('figures.md', import.meta.url);
const HEAD = [
  ...['client', 'database', 'faults', 'events', 'attempts'],
  ...['lost', 'forged', 'ran twice', 'never 2xx', 'ran again', 'seconds'],
];

/** @param only the name of a client; undefined: all of them, and the figures are written to the page. @returns whether all passed */
export async function runSqlClients(only: string | undefined, options: ReportOptions): Promise<boolean> {
  const { progress } = options;
  const clients = SQL_CLIENTS.filter(({ name }) => only === undefined || name === only);
  if (clients.length === 0) {
    const names = SQL_CLIENTS.map(({ name }) => name).join(', ');
    throw new Error(`--client is "${only}". Give one of: ${names}.`);
  }
  const app = await install(progress);
  const script = bundle(new URL('./sql-worker.ts', import.meta.url));
  const rows: SqlCampaign[] = [];
  try {
    for (const client of clients) {
      if (client.server === 'MariaDB' && !hasMariadb()) {
        process.stdout.write(`${client.name}: skipped, because mariadbd is not installed\n`);
        continue;
      }
      const ledger = join(app, `ledger-${client.name}.mjs`);
      bundleTo(join(app, `ledger-${client.name}.ts`), ledger);
      const row = await runSqlCampaign({ ...SIZE, client, script, ledger, progress });
      rows.push(row);
      report({ name: `${client.name} with ${client.server}`, ...row }, options);
    }
  } finally {
    rmSync(dirname(script), { recursive: true, force: true });
  }
  const text = `Node ${process.version}, ${today()}.\n\n${table(HEAD, rows.map(cells))}`;
  if (only === undefined) writeFigures(PAGE, 'sql', text);
  const broken = rows.filter(({ violations }) => violations.length > 0);
  process.stdout.write(`${rows.length - broken.length} passed, ${broken.length} failed\n`);
  return broken.length === 0;
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

function cells({ client, ...row }: SqlCampaign): string[] {
  const { faults, events, attempts, lost, forged, doubled, never, ranAgain, seconds } = row;
  const figures = [faults, events, attempts, lost, forged, doubled, never, ranAgain, seconds];
  return [client.name, client.server, ...figures.map(String)];
}
