// Checks the model with Spin, and that it finds each deliberate bug: `npm run test:model -- --help`.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { concurrently } from '../../setup/concurrently.js';
import { findProgram, isMissing, SQLITE } from '../../setup/programs.js';
import { replaysOf, TRAILS, TRAILS_FILE } from '../interleavings/replays.js';
import { BUGS, CONFIGURATIONS, type Defines } from './configurations.js';

const HELP = `npm run test:model [-- OPTIONS]

Goes through every order of events of test/lab/model/receiver.pml, within bounds, and looks for each deliberate bug. The way
to a bug is then replayed in the code, which must go wrong with the same bug in it, and not without.
Needs spin and gcc: apt-get install spin gcc libc6-dev

  --bug NAME   print the shortest way to this bug, step by step
  --write      keep the ways to all bugs in test/lab/interleavings/trails.json
  --help       print this
`;

const MODEL = fileURLToPath(new URL('./receiver.pml', import.meta.url));
const run = promisify(execFile);
/** Two states machines at once, on two cores. */
const AT_ONCE = 2;

/** What the checker said. */
interface Checked {
  readonly states: number;
  readonly seconds: number;
  /** The property that does not hold, or what else is wrong; undefined when everything holds. */
  readonly violated: string | undefined;
  /** Of the counterexample. */
  readonly steps: number;
  /** The counterexample in words. */
  readonly story: readonly string[];
}

/** @param shortest search by breadth: slower, and what it finds is the shortest counterexample */
async function check(defines: Defines, shortest: boolean): Promise<Checked> {
  const folder = mkdtempSync(join(tmpdir(), 'model-'));
  const flags = defines.map((define) => `-D${define}`);
  const options = { cwd: folder, maxBuffer: 64 * 1024 * 1024 };
  const began = performance.now();
  try {
    await run('spin', [...flags, '-a', MODEL], options);
    // What finds a bug runs for less time than an optimizing compiler.
    const search = shortest ? ['-O0', '-DBFS'] : ['-O2', '-DCOLLAPSE'];
    await run('gcc', ['-w', '-DSAFETY', '-DMEMLIM=4000', ...search, '-o', 'pan', 'pan.c'], options);
    const { stdout } = await run(join(folder, 'pan'), ['-m100000', '-w24', '-n'], options);
    const [, stored] = /^\s*(\d+) states, stored/m.exec(stdout) ?? [];
    const [, broken] = /^pan:1: (.+?)(?: \(at depth \d+\))?$/m.exec(stdout) ?? [];
    // A search that was cut short has shown nothing.
    const incomplete = /max search depth too small|reached -DMEMLIM|out of memory/.exec(stdout)?.[0];
    const { steps, story } = broken ? await replay(flags, folder) : { steps: 0, story: [] };
    return {
      states: Number(stored ?? 0),
      seconds: (performance.now() - began) / 1_000,
      violated:
        broken?.replace('assertion violated ', '') ?? incomplete ?? (stored ? undefined : 'no answer'),
      steps,
      story,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const ACTORS = ['receiver A', 'receiver B', 'the redrive'];

async function replay(flags: readonly string[], folder: string) {
  const options = { cwd: folder, maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await run('spin', [...flags, '-k', 'receiver.pml.trail', '-t', MODEL], options);
  const lines = stdout.split('\n');
  const end = lines.findIndex((line) => line.startsWith('spin:'));
  return {
    steps: Number(/trail ends after (\d+) steps/.exec(stdout)?.[1] ?? 0),
    story: lines
      .slice(0, end)
      .map((line) => line.trim().replace(/^[012](?=[: ])/, (number) => ACTORS[Number(number)] ?? number)),
  };
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { bug: { type: 'string' }, write: { type: 'boolean' }, help: { type: 'boolean' } },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const missing = ['spin', 'gcc'].filter((program) => !findProgram(program));
  if (missing.length > 0) {
    process.stdout.write(
      `model skipped: ${missing.join(', ')} missing. apt-get install spin gcc libc6-dev\n`,
    );
    return process.env.CI === 'true' ? 1 : 0;
  }
  if (values.write) await writeTrails();
  else if (values.bug === undefined) return checkAll();
  else return explain(values.bug);
  return 0;
}

async function explain(name: string): Promise<number> {
  const bug = BUGS[name];
  if (!bug) throw new Error(`--bug is "${name}". Use one of: ${Object.keys(BUGS).join(', ')}.`);
  const { violated, story } = await check(bug.defines, true);
  process.stdout.write(
    `${bug.what}:\n\n${story.map((line) => `  ${line}`).join('\n')}\n\n  ${violated} does not hold\n`,
  );
  return violated === bug.breaks ? 0 : 1;
}

/** For the tests of the code, which need no Spin. */
async function writeTrails(): Promise<void> {
  const trails: Record<string, readonly string[]> = {};
  for (const [name, { defines }] of Object.entries(BUGS)) trails[name] = (await check(defines, true)).story;
  writeFileSync(TRAILS_FILE, `${JSON.stringify(trails, null, 2)}\n`);
}

async function checkAll(): Promise<number> {
  let [passed, failed] = [0, 0];
  const report = (passes: boolean, line: string) => {
    if (passes) passed += 1;
    else failed += 1;
    process.stdout.write(`${passes ? 'ok' : 'FAILED'.padEnd(7)} ${line}\n`);
  };
  await concurrently(Object.entries(CONFIGURATIONS), AT_ONCE, async ([name, defines]) => {
    const { states, seconds, violated, story } = await check(defines, false);
    const holds = violated === undefined;
    const figures = `${states.toLocaleString('en')} states, ${seconds.toFixed(0)} s`;
    report(
      holds,
      `${name}: ${figures}: ${holds ? 'P1, P4, KEPT, ONCE and END hold' : `${violated} does not hold`}`,
    );
    for (const line of story) process.stdout.write(`          ${line}\n`);
  });
  await concurrently(Object.entries(BUGS), AT_ONCE, async ([name, { what, breaks, defines }]) => {
    const { violated, steps, story } = await check(defines, true);
    report(violated === breaks, `${name}: ${what}: ${violated ?? 'not found'}, after ${steps} steps`);
    if (isMissing(SQLITE)) return;
    for (const { bug, fails, holds } of await replaysOf(name, story))
      report(fails && holds, `${name}: in the code, ${bug} ${fails ? 'fails' : 'is not found'}`);
    if (JSON.stringify(TRAILS[name]) !== JSON.stringify(story))
      report(false, `${name}: Spin prints another way now: npm run test:model -- --write`);
  });
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();
