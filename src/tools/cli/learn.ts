// `learn`: proposes a schema, a type and a fixture for events, from bodies that arrived.
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isEnvelope } from '../../events/envelope.js';
import { matchesEvent } from '../simulator/event-pattern.js';
import { CommandError, command, EXIT, type Invocation, text, UsageError } from './command.js';
import { checkPattern, duration, wholeNumber } from './flag-values.js';
import { AnswerError } from './json-client.js';
import { identifierOf, type LearnedEvent, moduleCode, moduleFiles } from './learn/module-code.js';
import { Proposer } from './learn/proposal.js';
import { mergeShapes, type Shape, shapeOf } from './learn/shape.js';
import { allLetters, filterOptions, LetterPage, pageOptions, type Revealed } from './letter-page.js';
import { ProgressBar } from './print.js';
import { readNamed, readStdin } from './read-input.js';

const options = {
  file: text(
    { FILE: 'body.json' },
    'Read bodies from this file: one body, a list of bodies, or one on each line. Default: standard input.',
    { multiple: true, offer: 'file' },
  ),
  since: filterOptions.since,
  limit: text({ N: '500' }, 'With --page, at most this many letters of each event. Default: 100.'),
  out: text(
    { DIR: 'src/events' },
    'Write a file for each event, and index.ts, into this folder. Overwrites no file.',
    { offer: 'file' },
  ),
  ...pageOptions,
} as const;

export const learn = command({
  about:
    'Proposes a zod schema, a TypeScript type and a fixture for each event, from the bodies of events. With --page it reads the dead letters that are unknown or invalid; each that it reads is revealed, which the app logs. Without --page it reads files or standard input. Every value in a fixture is made up. The names of fields are those of the events, and so are words that a field such as status or currency had in at least five events: read the proposal before you commit it.',
  arguments: [
    {
      name: 'EVENT',
      optional: true,
      about: 'only this event, or a pattern like refund.*; default: every event',
    },
  ],
  options,
  examples: {
    "payment-webhooks learn 'refund.*' --page https://shop.example/ops/webhooks --token-file token.txt":
      'from dead letters',
    'payment-webhooks learn --file body.json --out src/events': 'from a body that you saved',
    'payment-webhooks learn refund.succeeded < bodies.jsonl': 'from many, one on each line',
  },
  async run({ positionals: [event], values, terminal }) {
    if (event !== undefined) checkPattern('EVENT', event);
    const learner = new EventLearner(event);
    for await (const body of givenBodies(event, { values, terminal })) learner.add(body);
    const events = learner.learned();
    const { skipped } = learner;
    if (events.length === 0) throw nothingLearned(event, values.page === undefined || skipped > 0);
    const notes =
      skipped === 0 ? [] : [`${skipped} ${skipped === 1 ? 'body is' : 'bodies are'} no event, and left out.`];
    const written = values.out === undefined ? undefined : await write(values.out, events);
    return {
      values: events.map((each) => ({ event: each.name, events: each.count, code: moduleCode([each]) })),
      text: written?.join('\n') ?? moduleCode(events).trimEnd(),
      notes,
    };
  },
});

type Given = Pick<Invocation<typeof options>, 'values' | 'terminal'>;

/** From the page, from files, or else from standard input. */
async function* givenBodies(event: string | undefined, { values, terminal }: Given): AsyncGenerator<unknown> {
  const { page: address, file: files, since } = values;
  if (address !== undefined) {
    if (files) throw new UsageError('Give --page or --file, not both.');
    if (since !== undefined) duration('--since', since);
    const limit = wholeNumber('--limit', values.limit ?? '100', [1, 100_000]);
    const page = await LetterPage.open(values);
    yield* bodiesOfLetters(page, { event, since, limit }, new ProgressBar(terminal));
    return;
  }
  for (const flag of ['since', 'limit', 'token-file'] as const)
    if (values[flag] !== undefined) throw new UsageError(`--${flag} needs --page.`);
  for (const file of files ?? []) {
    const name = `--file ${JSON.stringify(file)}`;
    yield* bodiesIn(name, String(await readNamed(name, file)));
  }
  if (files) return;
  const typed = await readStdin(terminal, 'Reading bodies from the terminal. End them with Ctrl-D.');
  yield* bodiesIn('Standard input', String(typed));
}

/** One body, a list of bodies, or one on each line. The error names the line and shows nothing of it. */
function bodiesIn(source: string, text: string): unknown[] {
  const whole = parsed(text);
  if (whole !== undefined) return Array.isArray(whole) ? whole : [whole];
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const body = parsed(line);
    if (body !== undefined) return [body];
    throw new CommandError(
      `${source} is not JSON (line ${index + 1}). Give one body, a list of bodies, or one body on each line.`,
    );
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    return undefined;
  }
}

interface LetterChoice {
  readonly event: string | undefined;
  readonly since: string | undefined;
  /** Most letters of one event name. */
  readonly limit: number;
}

/** The bodies of unknown and invalid events. Each is revealed, which the app logs. */
async function* bodiesOfLetters(
  page: LetterPage,
  { event, since, limit }: LetterChoice,
  bar: ProgressBar,
): AsyncGenerator<unknown> {
  const ids: string[] = [];
  const counts = new Map<string, number>();
  for (const reason of ['unknown', 'invalid']) {
    for await (const { id, eventName } of allLetters(page, { event, since, reason })) {
      const count = counts.get(eventName) ?? 0;
      if (count < limit) ids.push(id);
      counts.set(eventName, count + 1);
    }
  }
  try {
    for (const [index, id] of ids.entries()) {
      bar.show(index, ids.length);
      const { body, base64 } = await page.reveal(id).catch(withoutBody);
      if (body !== undefined && !base64) yield parsed(body);
    }
  } finally {
    bar.end();
  }
}

function withoutBody(error: unknown): Revealed {
  // It was processed or discarded meanwhile.
  if (error instanceof AnswerError && error.status === 404) return {};
  // What is stored is not what was kept. The others can still be read.
  if (error instanceof AnswerError && error.status === 409) return { body: '' };
  throw error;
}

function nothingLearned(event: string | undefined, wasRead: boolean): CommandError {
  const of = event === undefined ? '' : ` of ${event}`;
  const message = wasRead
    ? `Nothing that was read is an event${of}.`
    : `There is no unknown or invalid dead letter${of}.`;
  return new CommandError(message, EXIT.failed, 'NOTHING_LEARNED');
}

/** @returns the paths of the files */
async function write(folder: string, events: readonly LearnedEvent[]): Promise<string[]> {
  await mkdir(folder, { recursive: true }).catch((error) => refuse(folder, error));
  const files = [...moduleFiles(events)].map(([name, code]) => ({ path: join(folder, name), code }));
  for (const { path } of files) if (existsSync(path)) refuse(path, { code: 'EEXIST' });
  for (const { path, code } of files)
    await writeFile(path, code, { flag: 'wx' }).catch((error) => refuse(path, error));
  return files.map(({ path }) => path);
}

function refuse(path: string, { code }: Pick<NodeJS.ErrnoException, 'code'>): never {
  const quoted = JSON.stringify(path);
  throw new CommandError(
    code === 'EEXIST'
      ? `${quoted} exists already. Delete it, or give --out another folder.`
      : `${quoted} cannot be written (${code}).`,
  );
}

/** Gathers what the payloads of events have in common; it keeps no value but words that may be a choice. */
export class EventLearner {
  readonly #pattern: string;
  readonly #events = new Map<string, { readonly sources: Map<string, number>; shape: Shape }>();
  /** Bodies that are no event. */
  skipped = 0;

  constructor(pattern = '*') {
    this.#pattern = pattern;
  }

  /** @param body parsed JSON */
  add(body: unknown): void {
    if (!isEnvelope(body)) this.skipped += 1;
    else if (matchesEvent(this.#pattern, body.event_name))
      this.#addEvent(body.event_name, body.id, body.payload);
  }

  #addEvent(name: string, id: string, payload: object): void {
    const known = this.#events.get(name);
    const sources = known?.sources ?? new Map<string, number>();
    // The same event delivered again says nothing about how often a value comes.
    const source = sources.get(id) ?? sources.size;
    sources.set(id, source);
    const shape = shapeOf(payload, source);
    this.#events.set(name, { sources, shape: known ? mergeShapes(known.shape, shape) : shape });
  }

  learned(): LearnedEvent[] {
    // `index.ts` has all of them.
    const taken = new Set(['index']);
    const byName = [...this.#events].sort(([one], [other]) => (one < other ? -1 : 1));
    return byName.map(([name, { sources, shape }]) => ({
      name,
      count: sources.size,
      proposal: new Proposer().propose(shape),
      identifier: identifierOf(name, taken),
    }));
  }
}
