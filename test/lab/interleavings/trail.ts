// Replays a counterexample of the model in the real code, line by line, as Spin prints it.
import { type Actor, type Handler, LEASE_MS, settle } from './actor.js';
import type { BackendName } from './backends.js';
import type { Loaded } from './load.js';
import { Stage } from './stage.js';

export interface Trail {
  /** `LETTERS`, `JOURNAL`, `USES_ONCE` and `TWO_HANDLERS`, as the model is given them. */
  readonly defines: readonly string[];
  readonly lines: readonly string[];
}

export interface Replayed {
  /** Lines that the code did not follow, each with its number. None until the bug strikes, if the code has it. */
  readonly departures: readonly string[];
  readonly violations: readonly string[];
}

/** @returns false, or a promise of it, if the code does something else */
type Step = (stage: Stage, actor: Actor) => unknown;

const does = (call: string, expects?: (given: unknown) => boolean) => (_: Stage, actor: Actor) =>
  actor.obey(call, expects);
const claims = (status: string) => does('claim', (given) => (given as { status: string }).status === status);
const ends = (settle: (handler: Handler, stage: Stage) => unknown) => (stage: Stage, actor: Actor) => {
  for (const handler of [...actor.handlers]) settle(handler, stage);
};

/** What an actor does, and what becomes of its handlers and transactions. */
const STEPS: Readonly<Record<string, Step>> = {
  'is given a delivery': (stage, actor) => actor.later(() => void stage.deliver(actor)),
  'begins a redrive': (_, actor) => actor.later(() => void actor.hooks.deadLetters?.replay().catch(() => {})),

  'claims: granted': claims('claimed'),
  'claims: in progress': claims('in_progress'),
  'claims: completed': claims('completed'),
  'reads: completed': does('completedWith', (given) => given !== undefined),
  'reads: not completed': does('completedWith', (given) => given === undefined),
  'completes the event': does('complete', (given) => given === true),
  'cannot complete the event: its claim is lost': does('complete', (given) => given === false),
  'cannot complete the event: its row is missing': does('complete', (given) => typeof given === 'object'),
  'releases its claim': does('release', (given) => given === true),
  'cannot release: its claim is lost': does('release', (given) => given === false),
  'keeps the event as unfinished': does('keep'),
  'keeps the event as failed': does('keep'),
  'keeps the event as rejected': does('keep'),
  'changes its letter to failed': does('update', (given) => given === true),
  'changes its letter to rejected': does('update', (given) => given === true),
  'finds its letter gone': does('update', (given) => given === false),
  'removes the letter': does('remove'),
  'the call fails': (_, actor) => actor.refuse(),
  'answers 2xx': (_, actor) => (actor.answers.shift() ?? 500) < 300,
  'answers 5xx': (_, actor) => (actor.answers.shift() ?? 200) >= 500,

  'starts the handlers': (_, actor) => actor.handlers.length > 0,
  'skips the handler that has finished': (_, actor) => actor.handlers.every(({ name }) => name !== 'writes'),
  'the handlers outlast the timeout': (_, actor) => actor.outlastTimeout(),
  'the handlers succeed': (stage, actor) => stage.succeed(actor),
  'the other handler fails': ends(({ name, settle: end }) =>
    name === 'other' ? end(new Error('fails')) : end(),
  ),
  'the handlers end as failed': ends((handler) => handler.settle(new Error('fails'))),
  'the handlers end as rejected': ends((handler, { shared }) =>
    handler.settle(new shared.door.NonRetriableError()),
  ),
  'the handlers give up': async (_, actor) =>
    (await Promise.all(actor.handlers.map((handler) => actor.giveUp(handler)))).every(Boolean),
  'the handlers hang': () => true,

  'inserts its row': async (stage, actor) => (await stage.write(actor)) && !stage.hasRow,
  'commits its row': async (stage, actor) => (await stage.write(actor)) && stage.hasRow,
  'takes its row for a new one': async (stage, actor) => stage.hasRow && stage.write(actor),
  'finds the row, and skips the work': async (stage, actor) => {
    const skips = !(await stage.write(actor));
    stage.end(actor, 'COMMIT');
    return skips;
  },
  'swallows the rejection of once': async (stage, actor) => {
    stage.refusesBegin = true;
    const wrote = await stage.write(actor);
    stage.refusesBegin = false;
    return !wrote;
  },
  'writes and commits': (stage, actor) => stage.end(actor, 'COMMIT'),
  'rolls back': (stage, actor) => stage.end(actor, 'ROLLBACK', new Error('rolled back')),
  'takes a rollback for a commit': (stage, actor) => stage.end(actor, 'ROLLBACK'),
  'COMMIT has no answer': (stage, actor) => stage.end(actor, undefined, new Error('no answer')),
};

/** What happens to all. */
const EVENTS: Readonly<Record<string, (stage: Stage) => unknown>> = {
  'the lease lapses': (stage) => stage.pass(2 * LEASE_MS),
  'the sender gives up': () => {},
  'an abandoned transaction is committed': (stage) => stage.endAbandoned('COMMIT'),
  'an abandoned transaction is rolled back': (stage) => stage.endAbandoned('ROLLBACK'),
  // The end of every replay.
  'the cause is fixed': () => {},
};

const LINE = /^(receiver [AB]|the redrive):? (.+)$/;

/** @param load as in a process of its own */
export async function replayTrail(
  load: () => Loaded,
  backend: BackendName,
  { defines, lines }: Trail,
): Promise<Replayed> {
  const stage = await Stage.open(load, backend, defines);
  const departures: string[] = [];
  try {
    for (const [index, line] of lines.entries())
      if (!(await follow(stage, line))) departures.push(`${index + 1}: ${line}`);
    await stage.finish();
    return { departures, violations: stage.properties.violations };
  } finally {
    stage.close();
  }
}

async function follow(stage: Stage, line: string): Promise<boolean> {
  const [, name = '', does = ''] = LINE.exec(line) ?? [];
  const [event, step] = [EVENTS[line], STEPS[does]];
  let followed: unknown;
  if (does === 'crashes') followed = stage.crash(name);
  else if (step) {
    const actor = stage.actor(name);
    await actor.goOn();
    followed = await step(stage, actor);
  } else if (event) followed = event(stage);
  else throw new Error(`Teach test/lab/interleavings/trail.ts the step "${line}" of the model.`);
  await settle();
  return followed !== false;
}
