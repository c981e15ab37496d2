// `learn`: proposes a schema, a type and a fixture for each event, from the bodies of events.
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isEnvelope } from '../../events/envelope.js';
import { matchesEvent } from '../../events/event-pattern.js';
import type { Revealed } from '../letters/server/letter-json.js';
import { CommandError, command, EXIT, type Invocation, text, UsageError } from './command.js';
import { inUtf8, whyNotJson } from './encoding.js';
import { eventPattern, wholeNumber } from './flag-values.js';
import { isAnswer } from './json-client.js';
import { identifierOf, type LearnedEvent, moduleCode, moduleFiles, Proposer } from './learn/proposal.js';
import { Shape } from './learn/shape.js';
import { filterOptions, openLetterPage, pageOptions } from './letter-page.js';
import { progressBar } from './print.js';
import { parseJson, readNamed, readStdin } from './read-input.js';

const options = {
  file: text(
    { FILE: 'body.json' },
    'Read bodies from this file: one body, an array of bodies, or one per line. Default: standard input.',
    { multiple: true },
  ),
  since: filterOptions.since,
  limit: text({ N: '500' }, 'With --page, at most this many letters of each event. Default: 100.', {
    read: wholeNumber(1, 100_000),
  }),
  out: text(
    { DIR: 'src/events' },
    'Write a file for each event, and index.ts, into this folder. Existing files are not overwritten.',
  ),
  ...pageOptions,
} as const;

export const learn = command({
  about:
    'Proposes a zod schema, a TypeScript type and a fixture for each event, from the bodies of events. With --page it reads the dead letters that are unknown or invalid; each one that it reads is revealed, which the app logs. Without --page it reads files or standard input. Every value in a fixture is made up. Names of fields come from the events, and so do words that a field such as status or currency had in at least five events: read the proposal before you commit it.',
  arguments: [
    {
      name: 'EVENT',
      optional: true,
      about: 'only this event, or a pattern like refund.*; default: every event',
      read: eventPattern,
    },
  ],
  options,
  examples: {
    "payment-webhooks learn 'refund.*' --page https://shop.example/ops/webhooks --token-file token.txt":
      'from dead letters',
    'payment-webhooks learn --file body.json --out src/events': 'from a body that you saved',
    'payment-webhooks learn refund.succeeded < bodies.jsonl': 'from many bodies, one per line',
  },
  async run(invocation) {
    const { positionals, values } = invocation;
    const [event] = positionals;
    const learner = eventLearner(event);
    for await (const body of givenBodies(invocation)) learner.add(body);
    const events = learner.learned();
    const { skipped } = learner;
    if (events.length === 0) {
      const isEmpty = values.page !== undefined && skipped === 0;
      const nothing = isEmpty ? 'There are no unknown or invalid dead letters' : 'No body is an event';
      const of = event === undefined ? '' : ` of ${event}`;
      throw new CommandError(`${nothing}${of}.`, EXIT.failed, 'NOTHING_LEARNED');
    }
    const left = skipped === 1 ? '1 body that is not an event' : `${skipped} bodies that are not events`;
    const written = values.out === undefined ? undefined : await write(values.out, events);
    return {
      values: events.map((each) => ({ event: each.name, events: each.count, code: moduleCode([each]) })),
      text: written?.join('\n') ?? moduleCode(events).trimEnd(),
      notes: skipped === 0 ? [] : [`Skipped ${left}.`],
    };
  },
});

async function* givenBodies(invocation: Invocation<typeof options>): AsyncGenerator<unknown> {
  const { values, terminal } = invocation;
  if (values.page !== undefined) {
    if (values.file) throw new UsageError('Pass --page or --file, not both.');
    yield* bodiesOfLetters(invocation);
    return;
  }
  for (const flag of ['since', 'limit', 'token-file'] as const)
    if (values[flag] !== undefined) throw new UsageError(`--${flag} needs --page.`);
  for (const file of values.file ?? []) {
    const name = `--file ${JSON.stringify(file)}`;
    yield* bodiesIn(name, await readNamed(name, file));
  }
  if (values.file) return;
  const typed = await readStdin(terminal, 'Reading bodies from the terminal. End them with Ctrl-D.');
  yield* bodiesIn('Standard input', typed);
}

/** One body, an array of bodies, or one per line. The error does not quote the line. */
function bodiesIn(source: string, bytes: Buffer): unknown[] {
  const text = String(inUtf8(source, bytes));
  const whole = parseJson(text);
  if (whole !== undefined) return Array.isArray(whole) ? whole : [whole];
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const body = parseJson(line);
    if (body !== undefined) return [body];
    throw new CommandError(
      `${source} ${whyNotJson(line)} (line ${index + 1}). Pass one body, an array of bodies, or one body per line.`,
    );
  });
}

/** The bodies of unknown and invalid events. Each is revealed, which the app logs. */
async function* bodiesOfLetters({ positionals, values, terminal }: Invocation<typeof options>) {
  const [event] = positionals;
  const { since, limit = 100 } = values;
  const page = await openLetterPage(values);
  const ids: string[] = [];
  const counts = new Map<string, number>();
  for (const reason of ['unknown', 'invalid']) {
    for await (const { id, eventName } of page.letters({ event, since, reason })) {
      const count = counts.get(eventName) ?? 0;
      if (count < limit) ids.push(id);
      counts.set(eventName, count + 1);
    }
  }
  const bar = progressBar(terminal);
  try {
    for (const [index, id] of ids.entries()) {
      bar.show(index, ids.length);
      const { body, base64 } = await page.reveal(id).catch(withoutBody);
      if (body !== undefined && !base64) yield parseJson(body);
    }
  } finally {
    bar.end();
  }
}

function withoutBody(error: unknown): Partial<Revealed> {
  // Processed or discarded in the meantime.
  if (isAnswer(error, 404)) return {};
  // The stored bytes were changed. The other letters can still be read.
  if (isAnswer(error, 409)) return { body: '' };
  throw error;
}

async function write(folder: string, events: readonly LearnedEvent[]): Promise<string[]> {
  await mkdir(folder, { recursive: true }).catch((error) => refuse(folder, error));
  const files = [...moduleFiles(events)].map(([name, code]) => ({ path: join(folder, name), code }));
  for (const { path } of files) if (existsSync(path)) refuse(path, { code: 'EEXIST' });
  for (const { path, code } of files)
    await writeFile(path, code, { flag: 'wx' }).catch((error) => refuse(path, error));
  return files.map(({ path }) => path);
}

function refuse(path: string, { code }: Pick<NodeJS.ErrnoException, 'code'>): never {
  const exists = 'already exists. Delete it, or give --out another folder.';
  const problem = code === 'EEXIST' ? exists : `cannot be written (${code}).`;
  throw new CommandError(`${JSON.stringify(path)} ${problem}`);
}

/** Collects what the payloads of each event have in common. The only values it keeps are words that may be enum values. */
export function eventLearner(pattern = '*') {
  const events = new Map<string, { readonly sources: Map<string, number>; readonly shape: Shape }>();
  let skipped = 0;
  return {
    /** How many bodies were not events. */
    get skipped() {
      return skipped;
    },

    add(body: unknown): void {
      if (!isEnvelope(body)) skipped += 1;
      else if (matchesEvent(pattern, body.event_name)) {
        const { event_name: name, id, payload } = body;
        const known = events.get(name) ?? { sources: new Map<string, number>(), shape: new Shape() };
        // A second delivery of an event must not count as another event with the same value.
        const source = known.sources.get(id) ?? known.sources.size;
        known.sources.set(id, source);
        known.shape.add(payload, source);
        events.set(name, known);
      }
    },

    learned(): LearnedEvent[] {
      // `index.ts` re-exports all events.
      const taken = new Set(['index']);
      const byName = [...events].sort(([one], [other]) => (one < other ? -1 : 1));
      return byName.map(([name, { sources, shape }]) => ({
        name,
        count: sources.size,
        proposal: new Proposer().propose(shape),
        identifier: identifierOf(name, taken),
      }));
    },
  };
}
