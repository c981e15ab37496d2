// `npm run bench:load`: latency and largest rate of receivers with real stores, at a distance, next to one by hand.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { machine, today, writeFigures } from '../../setup/figures.js';
import { buildOfWorkingTree } from '../build.js';
import { type LoadOptions, loadOptions } from '../options.js';
import { prepare } from '../prepare.js';
import { conclude, main, progress } from '../session.js';
import { type Cell, DISTANCES, measureCell, STORES } from './cell.js';
import { plot } from './plot.js';
import { groupsOf, loadReport, missedLimits, TAIL_NOTE } from './report.js';
import { Results } from './results.js';

const PAGE = new URL('../../../docs/project/benchmarks.md', import.meta.url);
const PICTURE = new URL('../../../docs/project/load.svg', import.meta.url);
const FILE = fileURLToPath(new URL('../../../.scratch/bench/load.json', import.meta.url));

await main(async () => {
  const options = loadOptions(process.argv.slice(2), STORES, DISTANCES);
  if (options.help) {
    process.stdout.write(options.help);
    return 0;
  }
  prepare(progress);
  const { folder, hash } = buildOfWorkingTree();
  const { seconds } = options;
  const conditions = { build: hash, node: process.version, machine: machine(), seconds };
  const results = new Results(options.file ?? FILE, conditions);
  const wanted = cellsOf(options);
  const left = await measure(wanted, results, { ...options, build: folder });
  if (left > 0) {
    progress('');
    console.log(
      `${left} of ${wanted.length} cells are left. Run the same command again: it goes on from here.`,
    );
    return 0;
  }
  const groups = groupsOf(results.all.filter((result) => wanted.some((cell) => isSame(cell, result))));
  const note = `Node ${process.version}, ${machine()}, ${today()}, ${options.epochs} epochs. ${TAIL_NOTE}`;
  const text = `${note}\n\n${loadReport(groups)}`;
  if (options.write) {
    writeFigures(PAGE, 'load', text);
    writeFileSync(
      PICTURE,
      plot(groups, 'p99 in ms at deliveries a second, 1 ms to the store; dotted: by hand'),
    );
  }
  return conclude(text, missedLimits(groups), options);
});

/** Epoch by epoch, so that each store is spread over the whole run. A memory is at no distance. */
function cellsOf({ stores, distances, epochs }: LoadOptions): Cell[] {
  const wanted = STORES.filter((store) => stores.length === 0 || stores.includes(store));
  const all = wanted.flatMap((store) => (store === 'memory' ? [0] : DISTANCES).map((ms) => ({ store, ms })));
  const near = all.filter(
    ({ store, ms }) => store === 'memory' || distances.length === 0 || distances.includes(ms),
  );
  return Array.from({ length: epochs }, (_, index) =>
    near.map((cell) => ({ ...cell, epoch: index + 1 })),
  ).flat();
}

/** @returns how many are left when the time is over */
async function measure(
  cells: readonly Cell[],
  results: Results,
  { minutes, seconds, build }: LoadOptions & { readonly build: string },
): Promise<number> {
  const due = cells.filter((cell) => !results.has(cell));
  const startedAt = performance.now();
  let longest = 0;
  for (const [index, cell] of due.entries()) {
    const cellAt = performance.now();
    if (cellAt + longest - startedAt > minutes * 60_000) return due.length - index;
    const place = `cell ${cells.length - due.length + index + 1} of ${cells.length}, ${cell.store} at ${cell.ms} ms`;
    results.add(await measureCell(cell, { seconds, build, say: (text) => progress(`${place}: ${text}`) }));
    longest = Math.max(longest, performance.now() - cellAt);
  }
  return 0;
}

function isSame(one: Cell, other: Cell): boolean {
  return one.store === other.store && one.ms === other.ms && one.epoch === other.epoch;
}
