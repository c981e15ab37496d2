// `learn`: proposes a schema, a type and a fixture for events, from bodies that arrived.
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandError, command, EXIT, type Invocation, text, UsageError } from './command.js';
import { duration, wholeNumber } from './flag-values.js';
import { learnFromFiles, learnFromInput, learnFromLetters } from './learn/event-sources.js';
import { EventLearner } from './learn/learn-events.js';
import { type LearnedEvent, moduleCode, moduleFiles } from './learn/learned-event.js';
import { checkPattern, sinceOption } from './letter-filter.js';
import { LetterPage } from './letter-page.js';
import { pageOptions } from './page-access.js';
import { ProgressBar } from './progress-bar.js';

const options = {
  file: text(
    { FILE: 'body.json' },
    'Read bodies from this file: one body, a list of bodies, or one on each line. Default: standard input.',
    { multiple: true, offer: 'file' },
  ),
  since: sinceOption,
  limit: text({ N: '500' }, 'With --url, at most this many letters of each event. Default: 100.'),
  out: text(
    { DIR: 'src/events' },
    'Write a file for each event, and index.ts, into this folder. Overwrites no file.',
    {
      offer: 'file',
    },
  ),
  ...pageOptions,
} as const;

export const learn = command({
  about:
    'Proposes a zod schema, a TypeScript type and a fixture for each event, from the bodies of events. With --url it reads the dead letters that are unknown or invalid; each that it reads is revealed, which the app logs. Without --url it reads files or standard input. Every value in a fixture is made up. The names of fields are those of the events, and so are words that a field such as status or currency had in at least five events: read the proposal before you commit it.',
  arguments: [
    {
      name: 'EVENT',
      optional: true,
      about: 'only this event, or a pattern like refund.*; default: every event',
    },
  ],
  options,
  examples: {
    "payment-webhooks learn 'refund.*' --url https://shop.example/ops/webhooks --token-file token.txt":
      'from dead letters',
    'payment-webhooks learn --file body.json --out src/events': 'from a body that you saved',
    'payment-webhooks learn refund.succeeded < bodies.jsonl': 'from many, one on each line',
  },
  async run({ positionals: [event], values, terminal }) {
    if (event !== undefined) checkPattern('EVENT', event);
    const learner = new EventLearner(event);
    await read(learner, event, { values, terminal });
    const events = learner.learned();
    const { skipped } = learner;
    if (events.length === 0) throw nothingLearned(event, values.url === undefined || skipped > 0);
    const notes =
      skipped === 0 ? [] : [`${skipped} ${skipped === 1 ? 'body is' : 'bodies are'} no event, and left out.`];
    const written = values.out === undefined ? undefined : await write(values.out, events);
    const records = events.map((each) => ({
      event: each.name,
      events: each.count,
      code: moduleCode([each]),
    }));
    return { values: records, text: written?.join('\n') ?? moduleCode(events).trimEnd(), notes };
  },
});

type Given = Pick<Invocation<typeof options>, 'values' | 'terminal'>;

/** From the page, from files, or else from standard input. */
async function read(
  learner: EventLearner,
  event: string | undefined,
  { values, terminal }: Given,
): Promise<void> {
  const { url, file, since } = values;
  if (url === undefined) {
    for (const flag of ['since', 'limit', 'token-file'] as const)
      if (values[flag] !== undefined) throw new UsageError(`--${flag} needs --url.`);
    return file ? learnFromFiles(learner, file) : learnFromInput(learner, terminal);
  }
  if (file) throw new UsageError('Give --url or --file, not both.');
  if (since !== undefined) duration('--since', since);
  const limit = wholeNumber('--limit', values.limit ?? '100', [1, 100_000]);
  const page = await LetterPage.open(values);
  return learnFromLetters(learner, page, { event, since, limit }, new ProgressBar(terminal));
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
