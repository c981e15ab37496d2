// `npm run soak [-- --minutes 5]`: half an hour of every kind of delivery over every store, and what remains of it.
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeFigures } from '../setup/figures.js';
import { MOST_IDS, RATE, STORES, storeNames, WARM_UP_SECONDS } from './merchant.js';
import { pictureOf, tablesOf } from './report.js';
import { soak } from './soak.js';
import { failuresOf, TOLERANCE } from './verdict.js';

const FULL = 30;
/** For starting, resting and stopping. */
const BESIDES_MS = 5 * 60_000;
const PICTURE = new URL('../../docs/project/soak.svg', import.meta.url);
const PAGE = new URL('../../docs/project/reliability.md', import.meta.url);

const HELP = `npm run soak [-- --minutes N] [-- --record]

${RATE} deliveries a second to each of ${storeNames.length} stores, for ${FULL} minutes: good ones, forged ones, duplicates, slow and
aborted ones, handlers that are slow, late or fail. Before that, ${WARM_UP_SECONDS} seconds as fast as it goes.

Workers: ${storeNames.map((store) => `${STORES[store]} ${store}`).join(', ')}. The memory store holds ${MOST_IDS} ids, so that it is
full before its heap is first looked at. Starts its own Redis and Postgres.

  --minutes N   for less, or more; 1 at the least
  --record      write figures and picture into docs/ also after a run of another length

Exits with 1 unless heap and handles are within ${TOLERANCE * 100} % of where they were after the first minute, no rejection
was unhandled, no answer was wrong, and the ledger holds every good event once and nothing else.

Example: npm run soak -- --minutes 2
`;

class Interruption extends Error {}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: String(FULL) },
      record: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const minutes = Number(values.minutes);
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (!(minutes >= 1)) throw new Error(`--minutes is ${values.minutes}; give a number of 1 or more.`);
  setTimeout(() => process.exit(3), minutes * 60_000 + BESIDES_MS).unref();
  const result = await soak({ minutes, signal: interruption(), progress: (line) => console.error(line) });
  const text = tablesOf(result, minutes);
  console.log(text);
  if (minutes >= FULL || values.record) record(text, pictureOf(result, minutes));
  const failures = failuresOf(result);
  for (const fault of failures) console.log(`WRONG: ${fault}`);
  console.log(failures.length === 0 ? 'All as it should be.' : `${failures.length} things are wrong.`);
  return failures.length === 0 ? 0 : 1;
}

function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => controller.abort(new Interruption(`Stopped by ${signal}.`)));
  return controller.signal;
}

function record(text: string, picture: string): void {
  mkdirSync(new URL('.', PICTURE), { recursive: true });
  writeFileSync(PICTURE, picture);
  writeFigures(
    PAGE,
    'soak',
    `${text}\n\nHeap after a collection, a line for each worker, and the p99 of ordinary deliveries:\n\n![Heap of each worker, and p99 of ordinary deliveries, over time](soak.svg)`,
  );
  console.error(`Written to ${fileURLToPath(PAGE)} and ${fileURLToPath(PICTURE)}.`);
}

// Also when something is left that would keep it alive: the servers end with this process.
main().then(
  (code) => process.exit(code),
  (error) => {
    console.error(String(error));
    process.exit(error instanceof Interruption ? 130 : 1);
  },
);
