// `npm run bench:start-up`: how long the command line takes to start, against Node itself. At most twice is wanted.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const PAIRS = 20;
const MOST = 2;
const CLI = fileURLToPath(new URL('../../dist/cjs/cli.js', import.meta.url));

function milliseconds(args: readonly string[]): number {
  const startedAt = performance.now();
  const { status } = spawnSync(process.execPath, args, {
    input: '{"a":1}',
    env: { SERVICE_PRIVATE_KEY: 'pri_x' },
  });
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}: npm run build first`);
  return performance.now() - startedAt;
}

const median = (times: number[]) => times.toSorted((a, b) => a - b)[PAIRS / 2] as number;

for (const word of ['--help', 'sign']) {
  // In turns, so that what else runs on the machine slows both.
  const pairs = Array.from({ length: PAIRS }, () => [milliseconds([CLI, word]), milliseconds(['-e', '0'])]);
  const [mine, bare] = [0, 1].map((side) => median(pairs.map((pair) => pair[side] as number)));
  const ratio = (mine as number) / (bare as number);
  console.log(
    `payment-webhooks ${word}: ${mine?.toFixed(0)} ms, node -e 0: ${bare?.toFixed(0)} ms, ${ratio.toFixed(2)} ×`,
  );
  if (ratio > MOST) process.exitCode = 1;
}
