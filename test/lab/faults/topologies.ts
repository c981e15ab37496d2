// The campaigns on the topologies that people run: found by the beginning of their name, each with its row in the table.
import { readFileSync } from 'node:fs';
import { today, writeFigures } from '../../setup/figures.js';
import { FIGURES, type ReportOptions, report } from './report.js';
import { runTopologyCampaign, type TopologyFigures } from './topologies/campaign.js';
import { PGBOUNCER } from './topologies/pgbouncer.js';
import { REDIS_CLUSTER } from './topologies/redis-cluster.js';
import { REDIS_SENTINEL } from './topologies/redis-sentinel.js';
import { SWITCH_OVER } from './topologies/switch-over.js';

/** Each lasts at most eight minutes, and starts and stops its own servers. */
const CAMPAIGNS = [...REDIS_CLUSTER, ...REDIS_SENTINEL, ...PGBOUNCER, ...SWITCH_OVER];

/** A violation keeps its row from being written: so none was forged, unexplained, or never answered 2xx. */
const HEAD = [
  ...['topology and fault', 'faults', 'events', 'lost', 'ran twice', 'ran again later', 'forgotten'],
  ...['refused', 'last refusal, s', 'run'],
];

/** @param prefix what the names begin with, such as `redis` or `redis cluster` */
export async function runTopologies(
  prefix: string,
  options: ReportOptions,
): Promise<readonly TopologyFigures[]> {
  const campaigns = CAMPAIGNS.filter(({ name }) => name.startsWith(prefix));
  if (campaigns.length === 0) {
    const names = CAMPAIGNS.map(({ name }) => `  ${name}`).join('\n');
    throw new Error(`--topologies is "${prefix}". Pass what one of these names begins with:\n${names}`);
  }
  const all: TopologyFigures[] = [];
  for (const { name, ...plan } of campaigns) {
    const figures = await runTopologyCampaign(plan, (line) => options.progress(`${name}: ${line}`));
    all.push(figures);
    report({ name, ...figures }, options);
    // At once, so that those which are done need not be run again when a later one breaks.
    if (figures.violations.length === 0) record(name, figures);
  }
  return all;
}

/** Replaces the row of this campaign, and leaves the others as they are. */
function record(name: string, figures: TopologyFigures): void {
  const { faults, events, lost, doubled, ranAgain, forgotten, refused, untilLastRefusal } = figures;
  const counts = [faults, events, lost, doubled, ranAgain, forgotten, refused];
  const row = `| ${[name, ...counts, untilLastRefusal.toFixed(1), today()].join(' | ')} |`;
  const lines = readFileSync(FIGURES, 'utf8').split('\n');
  const rows = CAMPAIGNS.flatMap((one) =>
    one.name === name ? row : (lines.find((line) => line.startsWith(`| ${one.name} |`)) ?? []),
  );
  const rule = `| --- |${' --: |'.repeat(HEAD.length - 2)} --- |`;
  writeFigures(FIGURES, 'topologies', [`| ${HEAD.join(' | ')} |`, rule, ...rows].join('\n'));
}
