// Checks the model with Spin, and that it finds each deliberate bug: `npm run test:model -- --help`.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { concurrently } from '../../setup/concurrently.js';
import { findProgram } from '../../setup/programs.js';

const HELP = `npm run test:model [-- OPTIONS]

Goes through every order of events of test/lab/model/receiver.pml, within bounds, and looks for each deliberate bug.
Needs spin and gcc: apt-get install spin gcc libc6-dev

  --bug NAME   print the shortest way to this bug, step by step
  --help       print this
`;

const MODEL = fileURLToPath(new URL('./receiver.pml', import.meta.url));
const run = promisify(execFile);
/** Two states machines at once, on two cores. */
const AT_ONCE = 2;

/** Everything that Spin's preprocessor is given. */
type Defines = readonly string[];

const bounds = (receivers: number, attempts: number, redrives: number, crashes: number, faults: number) => [
  ...[`RECEIVERS=${receivers}`, `ATTEMPTS=${attempts}`, `REDRIVES=${redrives}`],
  ...[`CRASHES=${crashes}`, `FAULTS=${faults}`],
];
const KEPT = ['LETTERS'];
const JOURNAL = ['LETTERS', 'JOURNAL'];
/** The handler writes inside `once`. */
const ONCE = ['USES_ONCE'];

const CONFIGURATIONS: Readonly<Record<string, Defines>> = {
  'no dead letters': bounds(2, 3, 0, 1, 1),
  'dead letters': [...KEPT, ...bounds(2, 2, 0, 1, 1)],
  journal: [...JOURNAL, ...bounds(2, 2, 0, 1, 1)],
  'dead letters, redrive': [...KEPT, ...bounds(1, 2, 1, 1, 1)],
  'journal, redrive': [...JOURNAL, ...bounds(1, 2, 1, 1, 1)],
  'journal, redrive, two receivers': [...JOURNAL, ...bounds(2, 2, 1, 0, 0)],
  once: [...ONCE, ...bounds(2, 3, 0, 1, 1)],
  'once, two handlers': [...ONCE, 'TWO_HANDLERS', ...bounds(2, 3, 0, 1, 1)],
  'once, dead letters': [...ONCE, ...KEPT, ...bounds(2, 2, 0, 1, 1)],
  'once, journal': [...ONCE, ...JOURNAL, ...bounds(2, 2, 0, 1, 1)],
  'once, dead letters, redrive': [...ONCE, ...KEPT, ...bounds(1, 2, 1, 1, 1)],
  'once, journal, redrive': [...ONCE, ...JOURNAL, ...bounds(1, 2, 1, 1, 1)],
};

interface Bug {
  readonly what: string;
  readonly breaks: string;
  readonly defines: Defines;
}

const BUGS: Readonly<Record<string, Bug>> = {
  'release-early': {
    what: 'the claim is released at the timeout, before the work fails',
    breaks: 'P4',
    defines: ['BUG_RELEASE_EARLY', ...bounds(2, 2, 0, 0, 0)],
  },
  'complete-without-token': {
    what: 'a claim that was taken over can still complete',
    breaks: 'P4',
    defines: ['BUG_COMPLETE_WITHOUT_TOKEN', ...bounds(2, 2, 0, 0, 0)],
  },
  'late-success': {
    what: 'a handler that gave up after its signal aborted counts as a success',
    breaks: 'P1',
    defines: ['BUG_LATE_SUCCESS', ...bounds(2, 2, 0, 0, 0)],
  },
  'duplicate-200': {
    what: 'the duplicate of an event in progress is answered 200',
    breaks: 'P1',
    defines: ['BUG_DUPLICATE_200', ...bounds(2, 2, 0, 0, 0)],
  },
  'redrive-unclaimed': {
    what: 'the redrive runs handlers without a claim',
    breaks: 'P4',
    defines: ['BUG_REDRIVE_UNCLAIMED', ...KEPT, ...bounds(1, 1, 1, 0, 0)],
  },
  'row-outside': {
    what: 'the row of once is committed by itself, before the writes',
    breaks: 'P1',
    defines: ['BUG_ROW_OUTSIDE', ...ONCE, ...bounds(2, 2, 0, 1, 0)],
  },
  'token-per-run': {
    what: 'the second call of a run, after a commit without an answer, takes the row of the first for a new one',
    breaks: 'ONCE',
    defines: ['BUG_TOKEN_PER_RUN', ...ONCE, ...bounds(1, 1, 0, 0, 0)],
  },
  'no-wait': {
    what: 'once does not wait for a transaction that holds the row',
    breaks: 'ONCE',
    defines: ['BUG_NO_WAIT', ...ONCE, ...bounds(2, 2, 0, 0, 0)],
  },
  'no-read-back': {
    what: 'the event is completed although the row of once is missing',
    breaks: 'P1',
    defines: ['BUG_NO_READ_BACK', ...ONCE, ...bounds(1, 1, 0, 0, 0)],
  },
  'unanswered-completion': {
    what: 'a completion without an answer, so that nobody has read the row of once, is answered 200',
    breaks: 'P1',
    defines: ['BUG_UNANSWERED', ...ONCE, ...bounds(1, 1, 0, 0, 1)],
  },
  'unread-finished': {
    what: 'a handler is remembered as finished although its row is missing, and is skipped from then on',
    breaks: 'P1',
    defines: ['BUG_FINISHED_UNREAD', ...ONCE, 'TWO_HANDLERS', ...bounds(1, 2, 0, 0, 0)],
  },
  'swallowed-rejection': {
    what: 'a handler that swallowed the rejection of once counts as a success',
    breaks: 'P1',
    defines: ['BUG_SWALLOWED', ...ONCE, ...bounds(1, 1, 0, 0, 0)],
  },
  'remove-before-completion': {
    what: 'the letter is removed before the event is completed',
    breaks: 'END',
    defines: ['BUG_REMOVE_EARLY', ...ONCE, ...JOURNAL, ...bounds(1, 1, 0, 1, 0)],
  },
};

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
  const { values } = parseArgs({ options: { bug: { type: 'string' }, help: { type: 'boolean' } } });
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
  return values.bug === undefined ? checkAll() : explain(values.bug);
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

async function checkAll(): Promise<number> {
  let failed = 0;
  const report = (passes: boolean, line: string) => {
    if (!passes) failed += 1;
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
    const { violated, steps } = await check(defines, true);
    report(violated === breaks, `${name}: ${what}: ${violated ?? 'not found'}, after ${steps} steps`);
  });
  const all = Object.keys(CONFIGURATIONS).length + Object.keys(BUGS).length;
  process.stdout.write(`${all - failed} passed, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();
