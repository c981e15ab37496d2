// `npm run bench [-- --quick] [-- --gate] [-- --profile accept] [-- --node PROGRAM]`: measures, prints one table, and
// writes docs/benchmarks.md after a run of all profiles.
import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { startRedis } from '../setup/services.js';
import { type Measurement, measure, type Plan } from './measure.js';
import { measureMemory } from './memory.js';
import { prepare } from './prepare.js';
import { profiles } from './profiles.js';
import { missedGates, record, tableOf } from './report.js';

const FULL: Plan = { epochs: 5, rounds: 5, repeats: 5, warmUp: 40_000 };
const QUICK: Plan = { epochs: 1, rounds: 3, repeats: 1, warmUp: 20_000 };
const MEMORY = 'memory';

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      gate: { type: 'boolean', default: false },
      profile: { type: 'string', multiple: true, default: [...profiles.map(({ name }) => name), MEMORY] },
      node: { type: 'string', default: process.execPath },
    },
  });
  const { quick, node, profile: wanted } = values;
  refuseUnknown(wanted);
  prepare(progress);
  const version = execFileSync(node, ['-v'], { encoding: 'utf8' }).trim();
  const major = Number.parseInt(version.slice(1), 10);
  const measurements: Measurement[] = [];
  const redis = await startRedis();
  const surroundings = { node, progress, env: { BENCH_REDIS_URL: redis.url } };
  try {
    for (const profile of profiles.filter(({ name }) => wanted.includes(name))) {
      measurements.push(await measure(profile, quick ? QUICK : FULL, surroundings));
    }
  } finally {
    await redis.stop();
  }
  const memory = wanted.includes(MEMORY) ? await measureMemory(surroundings) : undefined;
  const results = { measurements, memory, major };
  const text = tableOf(results, { version, quick });
  progress('');
  console.log(text);
  if (wanted.length > profiles.length) console.error(`Written to ${record(text, major)}.`);
  const missed = missedGates(results);
  for (const { what, value, gate } of missed) console.error(`Gate missed: ${what}: ${value} (${gate})`);
  return values.gate && missed.length > 0 ? 1 : 0;
}

function refuseUnknown(wanted: readonly string[]): void {
  const known = [...profiles.map(({ name }) => name), MEMORY];
  const unknown = wanted.find((name) => !known.includes(name));
  if (unknown) throw new Error(`There is no profile ${unknown}; there are ${known.join(', ')}.`);
}

/** One line that is written over on a terminal; elsewhere a line each. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
  else if (text) process.stderr.write(`${text}\n`);
}

process.exitCode = await main();
