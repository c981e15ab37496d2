// `npm run test:faults -- --serial` and `-- --keys`: the promises of two options in figures, for figures.md.
import type { Estimate } from '../bench/statistics.js';
import { table, today, writeFigures } from '../setup/figures.js';
import { type KeysCampaign, runKeysCampaign } from './keys-campaign.js';
import { runSerialCampaign, type SerialCampaign } from './serial-campaign.js';
import type { SerialMode } from './serial-merchant.js';

type Progress = (line: string) => void;

const PAGE = new URL('figures.md', import.meta.url);
const MODES: readonly SerialMode[] = ['redis', 'postgres'];
/** Of `serial` where no event waits for another: longer than this is too slow. */
const MOST_RATIO = 1.1;

interface SerialRow extends SerialCampaign {
  readonly mode: SerialMode;
}

/** @returns whether all of them kept the promises */
export async function serialCampaigns(progress: Progress): Promise<boolean> {
  const size = { events: 10_000, pairs: 30, eventsOfRound: 800 };
  const rows: SerialRow[] = [];
  for (const mode of MODES) rows.push({ mode, ...(await runSerialCampaign({ mode, ...size, progress })) });
  const text = `Node ${process.version}, ${today()}.\n\n${serialTable(rows)}`;
  process.stdout.write(`${text}\n`);
  writeFigures(PAGE, 'serial', text);
  const broken = rows.flatMap(brokenPromises);
  for (const promise of broken) process.stdout.write(`failed: ${promise}\n`);
  return broken.length === 0;
}

function brokenPromises({ mode, events, runs, overlaps, ratio }: SerialRow): string[] {
  const broken: string[] = [];
  if (overlaps > 0) broken.push(`${mode}: handlers with one value overlapped ${overlaps} times`);
  if (runs !== events) broken.push(`${mode}: handlers ran ${runs} times for ${events} events`);
  if (ratio.low > MOST_RATIO)
    broken.push(
      `${mode}: where no event waits, serial takes ${interval(ratio)} times as long; the limit is ${MOST_RATIO}`,
    );
  return broken;
}

function serialTable(rows: readonly SerialRow[]): string {
  const head = [
    'store',
    'events',
    'handled',
    'overlaps',
    'put off',
    'seconds',
    'distinct values, times plain',
    'CPU of an event, ms more',
  ];
  return table(
    head,
    rows.map(({ mode, events, runs, overlaps, refused, seconds, ratio, cpuMs }) => [
      mode,
      ...[events, runs, overlaps, refused, seconds].map(String),
      interval(ratio),
      interval(cpuMs),
    ]),
  );
}

function interval({ median, low, high }: Estimate): string {
  return `${median.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
}

/** @returns whether all promises were kept */
export async function keysCampaign(progress: Progress): Promise<boolean> {
  const result = await runKeysCampaign({ forged: 10_000, seconds: 60, receivers: 20, progress });
  const text = `Node ${process.version}, ${today()}.\n\n${keysTable(result)}`;
  process.stdout.write(`${text}\n`);
  for (const violation of result.violations) process.stdout.write(`failed: ${violation}\n`);
  writeFigures(PAGE, 'keys', text);
  return result.violations.length === 0;
}

function keysTable({ forged, seconds, loads, most, delayedMs, receivers, atOnce }: KeysCampaign): string {
  return table(
    ['what', 'figure'],
    [
      ['forged deliveries', String(forged)],
      ['over how many seconds', String(seconds)],
      ['loads of the keys', String(loads)],
      ['most loads within 10 s', String(most)],
      ['how long a new key was answered 503 meanwhile, s', (delayedMs / 1_000).toFixed(1)],
      ['receivers that saw a new key while nobody forged', String(receivers)],
      ['of these, accepted its first delivery', String(atOnce)],
    ],
  );
}
