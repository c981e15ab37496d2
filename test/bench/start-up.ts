// `npm run bench:start-up [-- --against DIST]`: how long the command line and the main door take to start, against Node itself.
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { bytesOf } from '../setup/door-bytes.js';
import { table, today, writeFigures } from '../setup/figures.js';
import { estimate } from './bootstrap.js';
import { median } from './median.js';

const PAIRS = 20;
/** Of imports, which differ by less. */
const MORE_PAIRS = 40;
/** At most twice the time of Node itself is wanted for the command line. */
const MOST = 2;
const DIST = fileURLToPath(new URL('../../dist', import.meta.url));
const PAGE = new URL('../../docs/project/benchmarks.md', import.meta.url);

function run(args: readonly string[]): string {
  const { status, stdout } = spawnSync(process.execPath, args, {
    input: '{"a":1}',
    encoding: 'utf8',
    env: { SERVICE_PRIVATE_KEY: 'pri_x' },
  });
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}: npm run build first`);
  return stdout;
}

function milliseconds(args: readonly string[]): number {
  const startedAt = performance.now();
  run(args);
  return performance.now() - startedAt;
}

/** CPU time of a process that does this and ends: what else runs on the machine changes it less than the time on the clock. */
function cpuMilliseconds(statement: string): number {
  const report = 'const { user, system } = process.cpuUsage(); console.log((user + system) / 1_000);';
  return Number(run(['--input-type=module', '--eval', `${statement}; ${report}`]));
}

function commandLine(): void {
  for (const word of ['--help', 'sign']) {
    // In turns, so that what else runs on the machine slows both.
    const pairs = Array.from({ length: PAIRS }, () => [
      milliseconds([`${DIST}/cjs/cli.js`, word]),
      milliseconds(['-e', '0']),
    ]);
    const [mine, bare] = [0, 1].map((side) => median(pairs.map((pair) => pair[side] as number)));
    const ratio = (mine as number) / (bare as number);
    console.log(
      `payment-webhooks ${word}: ${mine?.toFixed(0)} ms, node -e 0: ${bare?.toFixed(0)} ms, ${ratio.toFixed(2)} ×`,
    );
    if (ratio > MOST) process.exitCode = 1;
  }
}

/** The build, another one to compare it with, and Node without either. */
function imports(other: string | undefined): string {
  const statements = new Map([
    ['node itself', ''],
    ['import payment-webhooks', importOf(DIST)],
    ...(other === undefined ? [] : [['the same before', importOf(other)] as const]),
  ]);
  const rounds = Array.from({ length: MORE_PAIRS }, (_, round) => {
    const order = [...statements];
    if (round % 2 === 1) order.reverse();
    return new Map(order.map(([name, statement]) => [name, cpuMilliseconds(statement)]));
  });
  const timesOf = (name: string) => rounds.map((round) => round.get(name) as number);
  const rows = [...statements.keys()].map((name) => {
    const dist = { 'node itself': undefined, 'import payment-webhooks': DIST }[name] ?? other;
    const bytes = name === 'node itself' ? undefined : bytesOf(`${dist}/esm/index.js`);
    return [
      name,
      median(timesOf(name)).toFixed(1),
      beside(timesOf(name), timesOf('node itself')),
      bytes?.loaded.toLocaleString('en') ?? '',
      bytes?.all.toLocaleString('en') ?? '',
    ];
  });
  const found = table(['what', 'CPU, ms', 'times node itself', 'bytes loaded', 'bytes in all'], rows);
  if (other === undefined) return found;
  const ratio = beside(timesOf('import payment-webhooks'), timesOf('the same before'));
  return `${found}\n\nThe import takes ${ratio} times what it took before.`;
}

function importOf(dist: string): string {
  return `await import(${JSON.stringify(pathToFileURL(`${dist}/esm/index.js`).href)})`;
}

function beside(times: readonly number[], others: readonly number[]): string {
  const found = estimate([times.map((time, index) => time / (others[index] as number))]);
  return found ? `${found.median.toFixed(2)} (${found.low.toFixed(2)} to ${found.high.toFixed(2)})` : '';
}

const { values } = parseArgs({ options: { against: { type: 'string' } } });
const other = values.against === undefined ? undefined : resolve(values.against);
commandLine();
const text = `Node ${process.version}, ${today()}.\n\n${imports(other)}`;
console.log(text);
if (other !== undefined) writeFigures(PAGE, 'start-up', text);
