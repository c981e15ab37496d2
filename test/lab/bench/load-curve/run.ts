// `npm run bench:load`: latency and largest rate of receivers with real stores, at a distance, next to one by hand.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { machine, today, writeFigures } from '../../../setup/figures.js';
import { buildOfWorkingTree } from '../build.js';
import { type LoadOptions, loadOptions } from '../options.js';
import { prepare } from '../prepare.js';
import { conclude, main, progress } from '../session.js';
import { type Cell, DISTANCES, measureCell, SAME_RATE, STORES } from './cell.js';
import { plot } from './plot.js';
import { groupsOf, loadReport, missedLimits } from './report.js';
import { readResults, writeResults } from './results.js';

const PAGE = new URL('../../../../docs/project/benchmarks.md', import.meta.url);
const PICTURE = new URL('../../../../docs/project/load.svg', import.meta.url);
const FILE = fileURLToPath(new URL('../../../../.scratch/bench/load.json', import.meta.url));
const CAPTION = 'p99 in ms at deliveries a second, 1 ms to the store; dotted: by hand';

const readOptions = (args: readonly string[]) => loadOptions(args, STORES, DISTANCES);

await main(readOptions, async (options) => {
  const { seconds, minutes, file = FILE } = options;
  prepare(progress);
  const { folder: build, hash } = buildOfWorkingTree();
  const conditions = { build: hash, node: process.version, machine: machine(), seconds };
  const results = readResults(file, conditions);
  const wanted = cellsOf(options);
  const due = wanted.filter((cell) => !results.some((result) => isSame(cell, result)));
  const startedAt = performance.now();
  let longest = 0;
  for (const [index, cell] of due.entries()) {
    const cellAt = performance.now();
    if (cellAt + longest - startedAt > minutes * 60_000) {
      progress('');
      console.log(
        `${due.length - index} of ${wanted.length} cells are left. Run the same command again: it goes on from here.`,
      );
      return 0;
    }
    const place = `cell ${wanted.length - due.length + index + 1} of ${wanted.length}, ${cell.store} at ${cell.ms} ms`;
    results.push(await measureCell(cell, { seconds, build, say: (text) => progress(`${place}: ${text}`) }));
    writeResults(file, conditions, results);
    longest = Math.max(longest, performance.now() - cellAt);
  }
  const groups = groupsOf(results.filter((result) => wanted.some((cell) => isSame(cell, result))));
  const note = `Node ${process.version}, ${machine()}, ${today()}, ${options.epochs} epochs. The percentiles are those of ${SAME_RATE} deliveries a second.`;
  const text = `${note}\n\n${loadReport(groups)}`;
  if (options.write) {
    writeFigures(PAGE, 'load', text);
    writeFileSync(PICTURE, plot(groups, CAPTION));
  }
  return conclude(text, missedLimits(groups), options);
});

/** Epoch by epoch, so that each store is spread over the whole run. A memory is at no distance. */
function cellsOf({ stores, distances, epochs }: LoadOptions): Cell[] {
  const near = DISTANCES.filter((ms) => distances.length === 0 || distances.includes(ms));
  const places = STORES.filter((store) => stores.length === 0 || stores.includes(store)).flatMap((store) =>
    (store === 'memory' ? [0] : near).map((ms) => ({ store, ms })),
  );
  return Array.from({ length: epochs }, (_, index) => index + 1).flatMap((epoch) =>
    places.map((place) => ({ ...place, epoch })),
  );
}

function isSame(one: Cell, other: Cell): boolean {
  return one.store === other.store && one.ms === other.ms && one.epoch === other.epoch;
}
