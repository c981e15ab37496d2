// `npm run bench:scale [-- --quick]`: what a delivery costs, whether the cost model holds, and what it says. Writes it
// into docs/project/capacity.md, unless it was quick.
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { writeFigures } from '../setup/figures.js';
import { BODY_BYTES, type Effort, measureCosts } from './costs.js';
import { moveTo, prepareOurs } from './prepare.js';
import { markdownOf } from './scale-report.js';
import { measureScaling } from './scaling.js';

const FULL: Effort = { windows: 7, seconds: 4, warmUp: 40_000 };
const QUICK: Effort = { windows: 3, seconds: 1, warmUp: 5_000 };

const HELP = `npm run bench:scale [-- --quick]

Measures the CPU of one delivery with each store, and the bytes of a remembered id; runs 1, 2 and 4 receivers on one
Redis; and computes what 1,000, 10,000 and 100,000 deliveries a second need. Writes it into docs/project/capacity.md.
Starts its own Redis and Postgres. Needs Linux, two CPUs and wrk.

  --quick   short windows; writes nothing

Example: npm run bench:scale -- --quick
`;

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const effort = values.quick ? QUICK : FULL;
const progress = (text: string) => console.error(text);
prepareOurs(progress);
moveTo('1');
const surroundings = { node: process.execPath, progress };
const costs = await measureCosts(effort, surroundings);
const scaled = await measureScaling(effort, surroundings);
const text = markdownOf({ costs, scaled, bodyBytes: BODY_BYTES, cpus: cpus().length });
console.log(text);
if (!values.quick) writeFigures(new URL('../../docs/project/capacity.md', import.meta.url), 'costs', text);
