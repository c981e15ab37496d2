// `npx tsx test/lab/faults/check.ts HISTORY...`: judges recorded histories again. Exits with 1 when one breaks a promise.
import { checkHistory } from './check-history.js';
import { type History, type HistoryRecord, readHistory, timeOf } from './history.js';

/** Of one promise; what is wrong with them is seldom different. */
const MOST_EVENTS = 3;
const HELP = `npx tsx test/lab/faults/check.ts HISTORY...

Judges histories that a campaign recorded (npm run test:faults -- --record FOLDER). test/lab/faults/history.ts has the format.
Prints each promise that is broken, and what the history says about its first ${MOST_EVENTS} events.

Exits with 0 if all are sound, 1 if one is not, 2 if one cannot be read.
`;

function judge(file: string): number {
  const history = readHistory(file);
  const { broken, violations, events, attempts } = checkHistory(history);
  const { campaign, mode } = history.campaign;
  const verdict = broken.length === 0 ? 'sound' : `${broken.length} broken promises`;
  process.stdout.write(`${file}: ${campaign}, ${mode}, ${events} events, ${attempts} attempts: ${verdict}\n`);
  for (const [index, { events: its }] of broken.entries()) {
    process.stdout.write(`  BROKEN: ${violations[index]}\n`);
    const distinct = [...new Set(its)];
    for (const event of distinct.slice(0, MOST_EVENTS)) print(event, history);
    if (distinct.length > MOST_EVENTS)
      process.stdout.write(`    and ${distinct.length - MOST_EVENTS} more\n`);
  }
  return broken.length === 0 ? 0 : 1;
}

/** What is known of the event, and the faults meanwhile. */
function print(event: string, { records }: History): void {
  const isIts = (record: HistoryRecord) => 'event' in record && record.event === event;
  const times = records.filter(isIts).map(timeOf).filter(Number.isFinite);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  process.stdout.write(`    event ${event}\n`);
  for (const record of records) {
    const isFault = record.type === 'fault' && record.from <= last && record.until >= first;
    if (isIts(record) || isFault) process.stdout.write(`      ${JSON.stringify(record)}\n`);
  }
}

const files = process.argv.slice(2);
if (files.length === 0 || files.includes('--help')) {
  process.stdout.write(HELP);
  process.exitCode = files.length === 0 ? 2 : 0;
} else {
  try {
    process.exitCode = Math.max(...files.map(judge));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 2;
  }
}
