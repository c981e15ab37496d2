// Drives the receiver through random orders of events: `npm run test:interleavings -- --help`.
import { parseArgs } from 'node:util';
import { BUGS } from './bugs.js';
import { replaysOf, TRAILS } from './replays.js';
import { search } from './search.js';

const SEARCHED = BUGS.filter(({ seed }) => seed !== undefined);

const HELP = `npm run test:interleavings [-- OPTIONS]

Two receivers, their stores, handlers, crashes and replays under a scheduler and a clock of the test: each run takes another
order, and P1, P4, KEPT and END of docs/project/model.md are checked. Exits with 1 when one does not hold.

  --sqlite      events and letters in SQLite, by the SQL of the package, instead of in memory
  --runs N      how many orders; default 10000
  --seed N      where the random numbers begin; default: the time
  --path P      with --seed, only this run, and its order
  --bug NAME    with this bug in the code: ${SEARCHED.map(({ name }) => name).join(', ')}
  --trail NAME  instead: the counterexample to this bug of the model, in the code with the bug and without:
                ${Object.keys(TRAILS).join(', ')}
  --help        print this
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '10000' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      path: { type: 'string' },
      trail: { type: 'string' },
      bug: { type: 'string' },
      sqlite: { type: 'boolean', default: false },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (values.trail !== undefined) return showReplays(values.trail);
  const runs = Number(values.runs);
  const seed = Number(values.seed);
  if (!Number.isSafeInteger(runs) || runs < 1)
    throw new Error(`--runs is "${values.runs}". Pass a number above 0.`);
  if (!Number.isSafeInteger(seed)) throw new Error(`--seed is "${values.seed}". Pass an integer.`);
  const bug = SEARCHED.find(({ name }) => name === values.bug);
  if (values.bug !== undefined && !bug) throw new Error(`--bug is "${values.bug}". --help lists the bugs.`);
  const { path } = values;
  const backend = values.sqlite || bug?.backend === 'sqlite' ? 'sqlite' : 'memory';
  const onRun = (done: number) => {
    if (process.stderr.isTTY && done % 50 === 0) process.stderr.write(`\r${done} of ${runs}`);
  };
  const found = await search({ backend, seed, path, runs, bug, onRun });
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
  if (found.violations.length === 0) {
    process.stdout.write(`${found.runs} orders, seed ${seed}: P1, P4, KEPT and END hold\n`);
    return 0;
  }
  if (path !== undefined) process.stdout.write(`${found.order.join('\n')}\n\n`);
  for (const violation of found.violations) process.stdout.write(`VIOLATED: ${violation}\n`);
  process.stdout.write(
    `run ${found.runs}, to see it: --seed ${seed} --path ${found.path}${backend === 'sqlite' ? ' --sqlite' : ''}${bug ? ` --bug ${bug.name}` : ''}\n`,
  );
  return 1;
}

async function showReplays(name: string): Promise<number> {
  const replays = await replaysOf(name);
  if (replays.length === 0)
    throw new Error(`--trail is "${name}", which is not replayed. --help lists the bugs of the model.`);
  const list = (what: string, lines: readonly string[]) => `  ${what}: ${lines.join('; ') || 'nothing'}\n`;
  for (const { bug, broken, real } of replays) {
    process.stdout.write(`with ${bug}:\n${list('violates', broken.violations)}`);
    process.stdout.write(list('leaves out', broken.departures));
    process.stdout.write(
      `without:\n${list('violates', real.violations)}${list('leaves out', real.departures)}`,
    );
  }
  return replays.every(({ fails, holds }) => fails && holds) ? 0 : 1;
}

process.exitCode = await main();
