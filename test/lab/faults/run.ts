// Campaigns against real stores, and their figures: `npm run test:faults -- --help`.
import { parseArgs } from 'node:util';
import { concurrently } from '../../setup/concurrently.js';
import { SQLITE_DRIVERS } from '../../setup/open-sqlite.js';
import { BOSS_VERSION } from '../../setup/pg-boss.js';
import { hasMariadb } from '../../setup/sql-adapters.js';
import { BUGS, type Bug } from '../interleavings/bugs.js';
import { runBossCampaign } from './boss-campaign.js';
import { type FaultKind, runCampaign } from './campaign.js';
import { STORES, type StoreName } from './databases.js';
import type { Campaign } from './environment.js';
import { runKeysCampaign } from './keys-campaign.js';
import { runLetterCampaign } from './letter-campaign.js';
import type { Mode } from './merchant.js';
import type { Plan } from './nemesis.js';
import { publish, type ReportOptions, report } from './report.js';
import { runSerialCampaigns } from './serial-campaign.js';
import { runSoak } from './soak.js';
import { runSqlClients } from './sql-clients.js';
import { runSqliteCampaign } from './sqlite-campaign.js';
import { runTopologies } from './topologies.js';

interface Size {
  readonly events: number;
  /** How many are delivered in random order, three times each, without any fault. */
  readonly crowd: number;
  readonly kills: number;
  readonly restarts: number;
  /** Of each kind of fault on the wire, and of each other way to lose a worker for a while. */
  readonly others: number;
  /** Events of all four reasons, and kills while they are kept; as many while they are replayed. */
  readonly letters: { readonly events: number; readonly kills: number };
  /** Kills of applications, and as many of workers. */
  readonly boss: { readonly events: number; readonly kills: number };
  readonly sqlite: { readonly events: number; readonly kills: number; readonly locks: number };
}

const SHORT: Size = {
  ...{ events: 60, crowd: 200, kills: 6, restarts: 2, others: 1 },
  ...{ letters: { events: 80, kills: 3 }, boss: { events: 40, kills: 3 } },
  sqlite: { events: 100, kills: 6, locks: 2 },
};
const LONG: Size = {
  ...{ events: 2_000, crowd: 10_000, kills: 200, restarts: 20, others: 20 },
  ...{ letters: { events: 2_000, kills: 20 }, boss: { events: 2_000, kills: 50 } },
  sqlite: { events: 1_000, kills: 100, locks: 10 },
};
/** Histories that a person can read. */
const SMALL: Size = {
  ...{ events: 24, crowd: 30, kills: 3, restarts: 1, others: 1 },
  ...{ letters: { events: 20, kills: 2 }, boss: { events: 20, kills: 2 } },
  sqlite: { events: 20, kills: 2, locks: 1 },
};
const MODES: readonly Mode[] = ['once', 'postgres', 'redis'];

/** Those of code that every SQL store has. */
const BATCH_BUGS = BUGS.filter(({ file }) => file.endsWith('/batches.ts'));

const HELP = `npm run test:faults [-- OPTIONS]

Workers, stores and the wire between them break while events are delivered; then every event is looked for. Starts its
own servers. Exits with 1 when an event is lost or forged, or ran twice without a cause.

  --long              the whole campaigns, about 90 minutes, and their figures in test/lab/faults/figures.md
  --mode NAME         only one store: once, postgres or redis; writes no figures
  --deliveries        only deliveries, in each store
  --in-flight         only deliveries of which 200 are in flight in three workers
  --store NAME        with --in-flight, only this: ${STORES.map((name) => `"${name}"`).join(', ')}
  --bug NAME          with --in-flight, and this bug in the workers, which has to be found: ${BATCH_BUGS.map(({ name }) => name).join(', ')}
  --letters           only the dead letters
  --pg-boss           only the queue in Postgres
  --sqlite            only processes that share one file of SQLite
  --serial            serial handlers in eight processes
  --keys              cached keys, with forged deliveries beside a key that changes
  --topologies NAME   failovers whose names begin with NAME: redis, postgres
  --sql               the clients of sqlStore()
  --soak              no faults, for minutes in each store: whether heap or handles grow
  --minutes N         with --soak, for each store; default 10
  --client NAME       with --sql, only this client
  --record FOLDER     smaller campaigns, with the history of each in this folder: npx tsx test/lab/faults/check.ts judges it
  --help              print this

Examples:
  npm run test:faults
  npm run test:faults -- --long --letters
  npm run test:faults -- --topologies "redis sentinel"
  npm run test:faults -- --sql --client knex
`;

const flag = { type: 'boolean', default: false } as const;
const text = { type: 'string' } as const;
const minutes = { type: 'string', default: '10' } as const;
const OPTIONS = {
  ...{
    long: flag,
    mode: text,
    deliveries: flag,
    letters: flag,
    'in-flight': flag,
    'pg-boss': flag,
    sqlite: flag,
    serial: flag,
    keys: flag,
  },
  ...{ topologies: text, sql: flag, soak: flag, minutes, client: text },
  ...{ record: text, store: text, bug: text, help: flag },
};

async function main(): Promise<number> {
  const { values } = parseArgs({ options: OPTIONS });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const modes = MODES.filter((one) => values.mode === undefined || values.mode === one);
  if (modes.length === 0) throw new Error(`--mode is "${values.mode}". Pass one of: ${MODES.join(', ')}.`);
  const options: ReportOptions = { record: values.record, progress };
  if (values.serial) return conclude(await runSerialCampaigns(progress));
  if (values.keys) return conclude([await runKeysCampaign(progress)]);
  if (values.topologies !== undefined) return conclude(await runTopologies(values.topologies, options));
  if (values.soak) return conclude(await soaks(modes, Number(values.minutes), options));
  if (values.sql) {
    const rows = await runSqlClients(values.client, options);
    if (values.client === undefined) writeTable('sql', SQL_COLUMNS, rows);
    return conclude(rows);
  }
  const bug = BATCH_BUGS.find(({ name }) => name === values.bug);
  if (values.bug !== undefined && !bug) throw new Error(`--bug is "${values.bug}". --help lists the bugs.`);
  const store = values.store ?? (values['in-flight'] && !bug ? 'all' : undefined);
  if (!['all', undefined, ...STORES].includes(store))
    throw new Error(`--store is "${store}". --help lists them.`);
  const size = values.long ? LONG : values.record ? SMALL : SHORT;
  const asked = KINDS.filter((kind) => values[kind.flag]);
  const all: Row[] = [];
  for (const { mark, columns, plan } of asked.length > 0 ? asked : KINDS) {
    const rows = await runAll(plan(modes, size, { bug, store }), options);
    if (values.long && values.mode === undefined) writeTable(mark, columns, rows);
    all.push(...rows);
  }
  return conclude(all);
}

function conclude(all: readonly { readonly violations: readonly string[] }[]): number {
  const broken = all.filter(({ violations }) => violations.length > 0);
  for (const each of broken)
    if (!('history' in each))
      for (const violation of each.violations) process.stdout.write(`failed: ${violation}\n`);
  process.stdout.write(`${all.length - broken.length} passed, ${broken.length} failed\n`);
  return broken.length === 0 ? 0 : 1;
}

type Row = Campaign & { readonly name: string };

/** Of deliveries in flight. */
interface Asked {
  readonly bug: Bug | undefined;
  /** @default the first */
  readonly store: string | undefined;
}

interface Planned {
  readonly name: string;
  /** Needs all the cores. */
  readonly alone?: boolean;
  run(): Promise<Campaign>;
}

/** Where they wait more than they compute, two at once take little longer than one. @returns rows as they were planned */
async function runAll(planned: readonly Planned[], options: ReportOptions): Promise<Row[]> {
  const rows = new Map<string, Row>();
  const run = async ({ name, run }: Planned) => {
    const row = { name, ...(await run()) };
    rows.set(name, row);
    report(row, options);
  };
  for (const each of planned) if (each.alone) await run(each);
  await concurrently(
    planned.filter(({ alone }) => !alone),
    2,
    run,
  );
  return planned.flatMap(({ name }) => rows.get(name) ?? []);
}

function deliveries(modes: readonly Mode[], size: Size): Planned[] {
  return modes.flatMap((mode) => [
    {
      name: `${mode}: three copies of each in random order`,
      alone: true,
      run: () =>
        runCampaign({
          mode,
          plan: {},
          progress,
          events: size.crowd,
          crowd: true,
          copies: 3,
          concurrency: 200,
        }),
    },
    ...Object.entries(plansFor(mode, size)).map(([name, plan]) => ({
      name: `${mode}: ${name}`,
      run: () => runCampaign({ mode, plan, progress, events: size.events }),
    })),
  ]);
}

/** Kills by themselves, so that nothing else can explain what ran twice. */
function plansFor(mode: Mode, { kills, restarts, others }: Size): Record<string, Plan<FaultKind>> {
  return {
    'kill -9': { kill: kills },
    'servers restarted': {
      'restart database': restarts,
      ...(mode === 'redis' && { 'restart redis': restarts }),
    },
    'wire cut, silent, replies dropped': { cut: others, 'black hole': others, 'no replies': others },
    'workers stopped and terminated': { 'stop for two leases': Math.ceil(others / 2), terminate: others },
  };
}

/** Their calls of the store share statements. */
function inFlight(modes: readonly Mode[], size: Size, { bug, store: only }: Asked): Planned[] {
  const stores = STORES.filter((store) => (only ?? 'postgresStore') === store || only === 'all');
  return stores.filter(isInstalled).flatMap((store) =>
    modes
      .filter((mode) => mode !== 'redis')
      .map((mode) => ({
        name: `${mode}, ${store}: 200 in flight`,
        alone: true,
        run: () =>
          runCampaign({
            ...{ mode, store, progress, bug, workers: 3, concurrency: 100, copies: 3, fewestCopies: 1 },
            ...(bug
              ? { plan: {}, events: 1_000, crowd: true }
              : { plan: faultsInFlight(store, size), events: 20 * size.kills }),
          }),
      })),
  );
}

function faultsInFlight(store: StoreName, { kills, restarts, others }: Size): Plan<FaultKind> {
  const half = Math.ceil(kills / 2);
  return {
    ...{ kill: half, terminate: others, 'restart database': restarts, 'stop for two leases': others },
    ...{ cut: others, 'black hole': others, 'no replies': others, 'statements cancelled': half },
    ...{ 'connections terminated': half, 'rows locked': half, 'writes refused by a trigger': half },
    ...(store === 'sqlStore, PgBouncer' && { 'restart bouncer': restarts }),
    ...(store === 'sqlStore, MariaDB' && { 'shut down': restarts, suspended: restarts }),
  };
}

function isInstalled(store: StoreName): boolean {
  if (store !== 'sqlStore, MariaDB' || hasMariadb()) return true;
  process.stdout.write(`${store}: skipped, because mariadbd is not installed\n`);
  return false;
}

function letters(modes: readonly Mode[], { letters: size }: Size): Planned[] {
  return modes.flatMap((mode) =>
    [false, true].map((journal) => ({
      name: `${mode}: dead letters${journal ? ' and journal' : ''}`,
      run: () => runLetterCampaign({ mode, journal, ...size, progress }),
    })),
  );
}

function jobs(_modes: readonly Mode[], { boss }: Size): Planned[] {
  return (['once', 'queue alone'] as const).map((mode) => ({
    name: `pg-boss ${BOSS_VERSION}: ${mode}`,
    run: () => runBossCampaign({ mode, ...boss, progress }),
  }));
}

function files(_modes: readonly Mode[], { sqlite }: Size): Planned[] {
  if (SQLITE_DRIVERS.length === 0) {
    process.stdout.write('sqlite: skipped, because no driver of SQLite works here\n');
    return [];
  }
  return [true, false].map((once) => ({
    name: `sqlite: four processes on one file${once ? ', once' : ''}`,
    run: () => runSqliteCampaign({ once, ...sqlite, progress }),
  }));
}

async function soaks(modes: readonly Mode[], minutes: number, options: ReportOptions): Promise<Campaign[]> {
  if (!(minutes > 0)) throw new Error('--minutes must be a number above 0.');
  const rows: Campaign[] = [];
  for (const mode of modes) {
    const { heaps, ...campaign } = await runSoak(mode, minutes, progress);
    rows.push(campaign);
    report({ name: `${mode}: ${minutes} minutes without faults`, ...campaign }, options);
    for (const heap of heaps) process.stdout.write(`  a worker: ${heap}\n`);
  }
  return rows;
}

function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${line}`);
}

const KINDS = [
  {
    flag: 'deliveries',
    mark: 'figures',
    columns: 'name faults events attempts lost forged doubled unexplained seconds',
    plan: deliveries,
  },
  {
    flag: 'in-flight',
    mark: 'in-flight',
    columns: 'name faults events attempts lost forged doubled unexplained seconds',
    plan: inFlight,
  },
  {
    flag: 'letters',
    mark: 'letters',
    columns: 'name faults events attempts letters lost doubled unexplained seconds',
    plan: letters,
  },
  {
    flag: 'pg-boss',
    mark: 'pg-boss',
    columns: 'name faults events attempts jobs lost doubled unexplained seconds',
    plan: jobs,
  },
  {
    flag: 'sqlite',
    mark: 'sqlite',
    columns: 'name faults events attempts lost forged doubled unexplained seconds',
    plan: files,
  },
] as const;
const SQL_COLUMNS = 'client database faults events attempts lost forged doubled never ranAgain seconds';
/** Of the columns whose heads are not the name of their figure. */
const HEADS: Readonly<Record<string, string>> = {
  name: 'campaign',
  doubled: 'ran twice',
  unexplained: 'of these unexplained',
  never: 'never 2xx',
  ranAgain: 'ran again',
};

/** @param columns the names of figures */
function writeTable(mark: string, columns: string, rows: readonly object[]): void {
  const names = columns.split(' ');
  const head = names.map((name) => HEADS[name] ?? name);
  const cells = rows.map((row) => names.map((name) => (row as Record<string, unknown>)[name]));
  publish(mark, head, cells);
}

process.exitCode = await main();
