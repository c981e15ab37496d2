// Campaigns against real stores, and their figures: `npm run test:faults -- --help`.
import { parseArgs } from 'node:util';
import { today, writeFigures } from '../setup/figures.js';
import { BOSS_VERSION } from '../setup/pg-boss.js';
import { type BossCampaign, runBossCampaign } from './boss-campaign.js';
import { type Campaign, runCampaign } from './campaign.js';
import type { Verdict } from './check-history.js';
import { type LetterCampaign, runLetterCampaign } from './letter-campaign.js';
import type { Mode } from './merchant.js';
import type { Plan } from './nemesis.js';
import { keysCampaign, serialCampaigns } from './options-campaigns.js';
import { type ReportOptions, report } from './report.js';
import { runSoak } from './soak.js';
import { runSqlClients } from './sql-clients.js';
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
}

const SHORT: Size = {
  events: 60,
  crowd: 200,
  kills: 6,
  restarts: 2,
  others: 1,
  letters: { events: 80, kills: 3 },
  boss: { events: 40, kills: 3 },
};
const LONG: Size = {
  events: 2_000,
  crowd: 10_000,
  kills: 200,
  restarts: 20,
  others: 20,
  letters: { events: 2_000, kills: 20 },
  boss: { events: 2_000, kills: 50 },
};
/** Histories that a person can read. */
const SMALL: Size = {
  ...{ events: 24, crowd: 30, kills: 3, restarts: 1, others: 1 },
  ...{ letters: { events: 20, kills: 2 }, boss: { events: 20, kills: 2 } },
};
const MODES: readonly Mode[] = ['transactional', 'pipelined', 'postgres', 'redis'];

const PAGE = new URL('figures.md', import.meta.url);
const CROWD = 'three copies of each in random order';

const HELP = `npm run test:faults [-- OPTIONS]

Workers, stores and the wire between them break while events are delivered; then every event is looked for. Starts its
own servers. Exits with 1 when an event is lost or forged, or ran twice without a cause.

  --long              the whole campaigns, about 90 minutes, and their figures in test/faults/figures.md
  --mode NAME         only one store: transactional, pipelined, postgres or redis; writes no figures
  --deliveries        only deliveries, in each store
  --letters           only the dead letters
  --pg-boss           only the queue in Postgres
  --serial            serial handlers in eight processes
  --keys              cached keys, with forged deliveries beside a key that changes
  --topologies NAME   failovers whose names begin with NAME: redis, postgres
  --sql               the clients of sqlStore()
  --soak              no faults, for minutes in each store: whether heap or handles grow
  --minutes N         with --soak, for each store; default 10
  --client NAME       with --sql, only this client
  --record FOLDER     smaller campaigns, with the history of each in this folder: npx tsx test/faults/check.ts judges it
  --help              print this

Examples:
  npm run test:faults
  npm run test:faults -- --long --letters
  npm run test:faults -- --topologies "redis sentinel"
  npm run test:faults -- --sql --client knex
`;

async function main(): Promise<number> {
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    options: {
      long: flag,
      mode: { type: 'string' },
      deliveries: flag,
      letters: flag,
      'pg-boss': flag,
      serial: flag,
      keys: flag,
      topologies: { type: 'string' },
      sql: flag,
      soak: flag,
      minutes: { type: 'string', default: '10' },
      client: { type: 'string' },
      record: { type: 'string' },
      help: flag,
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (values.serial) return exitCode(await serialCampaigns(progress));
  if (values.keys) return exitCode(await keysCampaign(progress));
  const options = { record: values.record, progress };
  if (values.topologies !== undefined) return conclude(await runTopologies(values.topologies, options));
  if (values.sql) return exitCode(await runSqlClients(values.client, options));
  if (values.mode !== undefined && !(MODES as readonly string[]).includes(values.mode))
    throw new Error(`--mode is "${values.mode}". Give one of: ${MODES.join(', ')}.`);
  const size = values.long ? LONG : values.record ? SMALL : SHORT;
  const modes = MODES.filter((one) => values.mode === undefined || values.mode === one);
  if (values.soak) return conclude(await soaks(modes, Number(values.minutes), options));
  const alone = values.deliveries || values.letters || values['pg-boss'];
  const rows = alone && !values.deliveries ? [] : await runAll(faultCampaigns(modes, size), options);
  const letterRows = alone && !values.letters ? [] : await runAll(letterCampaigns(modes, size), options);
  const bossRows = alone && !values['pg-boss'] ? [] : await runAll(bossCampaigns(size), options);
  if (values.long && values.mode === undefined) {
    if (rows.length > 0) record('figures', rows, ['faults', 'events', 'attempts']);
    if (letterRows.length > 0) record('letters', letterRows, ['kills', 'events', 'attempts', 'letters']);
    if (bossRows.length > 0) record('pg-boss', bossRows, ['kills', 'events', 'attempts', 'jobs']);
  }
  return conclude([...rows, ...letterRows, ...bossRows]);
}

function conclude(all: readonly { readonly violations: readonly string[] }[]): number {
  const broken = all.filter(({ violations }) => violations.length > 0);
  process.stdout.write(`${all.length - broken.length} passed, ${broken.length} failed\n`);
  return broken.length === 0 ? 0 : 1;
}

function exitCode(passed: boolean): number {
  return passed ? 0 : 1;
}

/** Where they wait more than they compute, two at once take little longer than one. */
const AT_ONCE = 2;

interface Planned<Found> {
  readonly name: string;
  /** Needs all the cores. */
  readonly alone?: boolean;
  run(): Promise<Found>;
}

/** @returns the figures of each, in the order of the plan */
async function runAll<Found extends Campaign | LetterCampaign | BossCampaign>(
  planned: readonly Planned<Found>[],
  options: ReportOptions,
): Promise<(Found & { readonly name: string })[]> {
  const rows = new Map<string, Found & { readonly name: string }>();
  const lane = async (left: Iterable<Planned<Found>>) => {
    for (const { name, run } of left) {
      const row = { name, ...(await run()) };
      rows.set(name, row);
      report(row, options);
    }
  };
  await lane(planned.filter(({ alone }) => alone));
  const others = planned.filter(({ alone }) => !alone).values();
  await Promise.all(Array.from({ length: AT_ONCE }, () => lane(others)));
  return planned.flatMap(({ name }) => rows.get(name) ?? []);
}

function faultCampaigns(modes: readonly Mode[], size: Size): Planned<Campaign>[] {
  return modes.flatMap((mode) =>
    Object.entries(plansFor(mode, size)).map(([name, plan]) => {
      const load =
        name === CROWD
          ? { events: size.crowd, copies: 3, concurrency: 200 }
          : { events: size.events, copies: 2, concurrency: 16 };
      const run = () => runCampaign({ mode, ...load, workers: 4, plan, progress });
      return { name: `${mode}: ${name}`, alone: name === CROWD, run };
    }),
  );
}

async function soaks(
  modes: readonly Mode[],
  minutes: number,
  options: ReportOptions,
): Promise<readonly Campaign[]> {
  if (!(minutes > 0)) throw new Error('--minutes must be a number above 0.');
  const rows: Campaign[] = [];
  for (const mode of modes) {
    const load = { events: 0, copies: 2, concurrency: 4, workers: 2, plan: {} };
    const { heaps, ...campaign } = await runSoak({ mode, ...load, progress }, minutes);
    const row = { name: `${mode}: ${minutes} minutes without faults`, ...campaign };
    rows.push(row);
    report(row, options);
    for (const heap of heaps) process.stdout.write(`  a worker: ${heap}\n`);
  }
  return rows;
}

function letterCampaigns(modes: readonly Mode[], { letters }: Size): Planned<LetterCampaign>[] {
  const keeping = modes.filter((mode) => mode !== 'pipelined');
  return keeping.flatMap((mode) =>
    [false, true].map((journal) => ({
      name: `${mode}: dead letters${journal ? ' and journal' : ''}`,
      run: () => runLetterCampaign({ mode, journal, ...letters, progress }),
    })),
  );
}

function bossCampaigns({ boss }: Size): Planned<BossCampaign>[] {
  return (['one commit', 'queue alone'] as const).map((mode) => ({
    name: `pg-boss ${BOSS_VERSION}: ${mode}`,
    run: () => runBossCampaign({ mode, ...boss, progress }),
  }));
}

/** Kills by themselves, so that nothing else can explain what ran twice. */
function plansFor(mode: Mode, { kills, restarts, others }: Size): Record<string, Plan> {
  const stores: Plan = {
    'restart postgres': restarts,
    ...(mode === 'redis' && { 'restart redis': restarts }),
  };
  return {
    [CROWD]: {},
    'kill -9': { kill: kills },
    'servers restarted': stores,
    'wire cut, silent, replies dropped': { cut: others, 'black hole': others, 'no replies': others },
    'workers stopped and terminated': { 'stop for two leases': Math.ceil(others / 2), terminate: others },
  };
}

function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${line}`);
}

type Column = 'events' | 'attempts' | 'faults' | 'kills' | 'letters' | 'jobs';

/** Replaces a table of figures.md. */
function record<Found extends Verdict & { readonly name: string; readonly seconds: number }>(
  mark: string,
  rows: readonly Found[],
  columns: readonly (Column & keyof Found)[],
): void {
  const heads = ['campaign', ...columns, 'lost'];
  if (mark === 'figures') heads.push('forged');
  heads.push('ran twice', 'of these unexplained', 'seconds');
  const cells = (row: Found) => [
    ...[row.name, ...columns.map((column) => row[column]), row.lost],
    ...(mark === 'figures' ? [row.forged] : []),
    ...[row.doubled, row.unexplained, row.seconds],
  ];
  const line = (all: readonly unknown[]) => `| ${all.join(' | ')} |`;
  const rule = line(['---', ...heads.slice(1).map(() => '--:')]);
  const table = [line(heads), rule, ...rows.map((row) => line(cells(row)))].join('\n');
  writeFigures(PAGE, mark, `Node ${process.version}, ${today()}.\n\n${table}`);
}

process.exitCode = await main();
