// The campaigns on the topologies that people run: found by the beginning of their name, each with its row in the table.
import { readFileSync } from 'node:fs';
import { today, writeFigures } from '../setup/figures.js';
import type { History } from './history.js';
import { type ReportOptions, report } from './report.js';
import { PGBOUNCER } from './topologies/pgbouncer.js';
import { REDIS_CLUSTER } from './topologies/redis-cluster.js';
import { REDIS_SENTINEL } from './topologies/redis-sentinel.js';
import { ROLLING_DEPLOY } from './topologies/rolling-deploy.js';
import { SWITCH_OVER } from './topologies/switch-over.js';

export interface TopologyFigures {
  readonly faults: number;
  readonly events: number;
  /** Answered 2xx, and no row in the ledger. */
  readonly lost: number;
  readonly forged: number;
  /** Events without a 2xx when everything has long been up again. */
  readonly never: number;
  /** Events with more than one row before they were replayed. */
  readonly doubled: number;
  /** Doubles that no fault explains. */
  readonly unexplained: number;
  /** Completed events that ran once more when all were delivered again. */
  readonly ranAgain: number;
  /** Of both: the store had confirmed what it did not know any more, because a replica did not have it. */
  readonly forgotten: number;
  /** Answers 503 that say that the store did not answer. */
  readonly refused: number;
  /** The longest, over all faults: seconds until an event that was refused got its 2xx. */
  readonly untilAccepted: number;
  /** The longest, over all faults: seconds until the last refusal. */
  readonly untilLastRefusal: number;
  readonly seconds: number;
  readonly history: History;
  /** Sentences; none when every invariant holds. */
  readonly violations: readonly string[];
}

/** Each lasts at most eight minutes, and starts and stops its own servers. */
export interface TopologyCampaign {
  /** Its database first, as in `redis cluster, ioredis: kill -9 of a master`. */
  readonly name: string;
  readonly promise: 'at least once, deduplicated' | 'exactly once in the transaction';
  run(progress: (line: string) => void): Promise<TopologyFigures>;
}

const CAMPAIGNS: readonly TopologyCampaign[] = [
  ...REDIS_CLUSTER,
  ...REDIS_SENTINEL,
  ...PGBOUNCER,
  ...SWITCH_OVER,
  ...ROLLING_DEPLOY,
];

const PAGE = new URL('figures.md', import.meta.url);
const MARK = 'topologies';
/** A violation keeps its row from being written: so none was forged, unexplained, or never answered 2xx. */
const HEAD = [
  ...['topology and fault', 'faults', 'events', 'lost', 'ran twice', 'ran again later', 'forgotten'],
  ...['refused', 'last refusal, s', 'run'],
];
const NUMBERS = HEAD.length - 2;

/** @param prefix what the names begin with, such as `redis` or `redis cluster` */
export async function runTopologies(
  prefix: string,
  options: ReportOptions,
): Promise<readonly TopologyFigures[]> {
  const campaigns = CAMPAIGNS.filter(({ name }) => name.startsWith(prefix));
  if (campaigns.length === 0) {
    const names = CAMPAIGNS.map(({ name }) => `  ${name}`).join('\n');
    throw new Error(`--topologies is "${prefix}". Give what one of these names begins with:\n${names}`);
  }
  const all: TopologyFigures[] = [];
  for (const campaign of campaigns) {
    const figures = await campaign.run((line) => options.progress(`${campaign.name}: ${line}`));
    all.push(figures);
    report({ name: campaign.name, ...figures }, options);
    // At once, so that those which are done need not be run again when a later one breaks.
    if (figures.violations.length === 0) record(campaign, figures);
  }
  return all;
}

/** Replaces the row of this campaign, and leaves the others as they are. */
function record({ name }: TopologyCampaign, figures: TopologyFigures): void {
  const { faults, events, lost, doubled, ranAgain, forgotten, refused, untilLastRefusal } = figures;
  const counts = [faults, events, lost, doubled, ranAgain, forgotten, refused];
  const cells = [name, ...counts, untilLastRefusal.toFixed(1), today()];
  const rows = new Map(CAMPAIGNS.map((campaign) => [campaign.name, rowOf(campaign.name)]));
  rows.set(name, `| ${cells.join(' | ')} |`);
  const rule = `| --- |${' --: |'.repeat(NUMBERS)} --- |`;
  const written = [...rows.values()].filter((row) => row !== undefined);
  writeFigures(PAGE, MARK, [`| ${HEAD.join(' | ')} |`, rule, ...written].join('\n'));
}

function rowOf(name: string): string | undefined {
  const lines = readFileSync(PAGE, 'utf8').split('\n');
  return lines.find((line) => line.startsWith(`| ${name} |`));
}
