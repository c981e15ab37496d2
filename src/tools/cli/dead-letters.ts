// `dead-letters …`: lists, shows, replays and discards what an app kept, through its page.

import type { ReplayCounts, ReplayProgress, ReplayReport } from '../../dead-letters/replay.js';
import { ENDS, lettersIn, lettersLeftIn, ORDER } from '../dead-letter-page/replay-text.js';
import { CommandError, command, EXIT, flag, text, UsageError } from './command.js';
import { defined, oneOf, wholeNumber } from './flag-values.js';
import {
  allLetters,
  filterOf,
  filterOptions,
  type JsonLetter,
  type LetterFilter,
  LetterPage,
  pageOptions,
  type ShownLetter,
} from './letter-page.js';
import { indented, ProgressBar, printable, table } from './print.js';
import { confirm } from './read-input.js';

const WITH_PAGE = '--page https://shop.example/ops/webhooks --token-file token.txt';

export const list = command({
  about:
    'Lists the dead letters of an app, in the order of their arrival: authentic events that were not processed.',
  options: {
    ...filterOptions,
    discarded: flag(
      'What is left of discarded letters, instead of letters: who discarded them, when and why.',
    ),
    limit: text({ N: '1000' }, 'At most this many. Default: 50.'),
    ...pageOptions,
  },
  examples: {
    [`payment-webhooks dead-letters list ${WITH_PAGE}`]: 'the oldest fifty',
    [`payment-webhooks dead-letters list --reason invalid --since 7d ${WITH_PAGE}`]:
      'payloads that did not fit',
  },
  async run({ values }) {
    const filter = defined({ ...filterOf(values), discarded: values.discarded ? 'true' : undefined });
    const limit = wholeNumber('--limit', values.limit ?? '50', [1, 1_000_000]);
    const page = await LetterPage.open(values);
    const letters: JsonLetter[] = [];
    let more = false;
    for await (const letter of allLetters(page, filter)) {
      more = letters.length === limit;
      if (more) break;
      letters.push(letter);
    }
    const notes = more ? [`There are more than ${limit}. Raise --limit, or narrow them down.`] : [];
    const filtered = Object.keys(filter).length > 0;
    return { values: letters, text: letterTable(letters, filtered), notes };
  },
});

export const show = command({
  about:
    'Shows one dead letter: why it was kept, what to do, its headers, and its payload with every value masked. With --reveal it shows the exact body too; the app logs who asked for it.',
  arguments: [{ name: 'ID', about: 'the id of the letter, as `dead-letters list` shows it' }],
  options: { reveal: flag('Show the exact body, which may hold personal data.'), ...pageOptions },
  examples: {
    [`payment-webhooks dead-letters show "$LETTER_ID" ${WITH_PAGE}`]: 'why was it not processed?',
    [`payment-webhooks dead-letters show "$LETTER_ID" --reveal --json ${WITH_PAGE} | jq -r .body`]:
      'its body alone',
  },
  async run({ positionals: [id = ''], values }) {
    if (id === '') throw new UsageError('ID is empty.');
    const page = await LetterPage.open(values);
    const shown = await page.letter(id);
    const letter = values.reveal ? { ...shown, ...(await page.reveal(id)) } : shown;
    return { values: [letter], text: letterText(letter) };
  },
});

export const replay = command({
  about:
    'Runs the handlers of the app for dead letters again, with the schemas of today. No event runs twice, so a replay can be ended with Ctrl-C and started again at any point. Without a filter it takes every letter. The exit code is 0 when no letter is left, else 1.',
  options: {
    ...filterOptions,
    'dry-run': flag('Only say what would happen: no handler runs, and nothing changes.'),
    keys: text({ KEYS: 'any' }, 'any: also letters whose private key is not configured. Not after a leak.', {
      offer: ['any'],
    }),
    concurrency: text({ N: '4' }, 'How many letters at once. Default: 1, in the order of their arrival.'),
    ...pageOptions,
  },
  examples: {
    [`payment-webhooks dead-letters replay --event 'refund.*' --dry-run ${WITH_PAGE}`]: 'what would happen?',
    [`payment-webhooks dead-letters replay --event 'refund.*' --concurrency 4 ${WITH_PAGE}`]: 'process them',
  },
  async run({ values, terminal }) {
    const { 'dry-run': dryRun, keys, concurrency } = values;
    if (keys !== undefined) oneOf('--keys', keys, ['configured', 'any']);
    const request = {
      ...filterOf(values),
      dryRun,
      keys,
      concurrency:
        concurrency === undefined ? undefined : wholeNumber('--concurrency', concurrency, [1, 100]),
    };
    const page = await LetterPage.open(values);
    const report = await replayLetters(page, request, new ProgressBar(terminal));
    const isDone = lettersLeftIn(report) === 0 && report.stopped === undefined;
    return { values: [report], text: replayText(report), exitCode: isDone ? EXIT.ok : EXIT.failed };
  },
});

export const discard = command({
  about:
    'Deletes the bytes and headers of dead letters for good, and leaves who did so, when and why. It discards the letters that match when it starts, and asks first when there are several; without a terminal, give --yes.',
  options: {
    ...filterOptions,
    because: text({ TEXT: 'duplicate' }, 'Why, in a few words. It is kept with your name.'),
    yes: flag('Do not ask.'),
    ...pageOptions,
  },
  examples: {
    [`payment-webhooks dead-letters discard --id "$LETTER_ID" --because "test data" ${WITH_PAGE}`]: 'one',
    [`payment-webhooks dead-letters discard --event 'test.*' --because "test data" ${WITH_PAGE}`]: 'several',
  },
  async run({ values, terminal }) {
    const { because = '' } = values;
    if (because.trim() === '')
      throw new UsageError('--because is missing. Say why, such as --because "test data".');
    const filter = filterOf(values);
    if (Object.keys(filter).length === 0) {
      throw new UsageError("Say which letters: give --id or another filter; --event '*' is all of them.");
    }
    const page = await LetterPage.open(values);
    const ids = await idsOf(page, filter);
    if (ids.length === 0) return { values: [{ discarded: 0 }], text: 'No dead letter matches.' };
    if (ids.length > 1 && !values.yes) {
      await confirm(`Discard ${ids.length} dead letters? Their bytes are deleted for good.`, terminal);
    }
    const discarded = await discardEach(page, { ids, because }, new ProgressBar(terminal));
    const others = 'are gone, or their events are being processed.';
    if (discarded === 0)
      throw new CommandError(`Nothing was discarded: the letters ${others}`, EXIT.failed, 'NOT_FOUND');
    const told = discarded < ids.length ? ` The others ${others}` : '';
    return { values: [{ discarded }], text: `${discarded} discarded.${told}` };
  },
});

/** Chosen before the question, so that no letter is discarded that arrived after it. */
async function idsOf(page: LetterPage, { id, ...filter }: LetterFilter): Promise<string[]> {
  if (id !== undefined && Object.keys(filter).length > 0)
    throw new UsageError('--id names one letter. Leave out the other filters.');
  if (id !== undefined) return [id];
  const ids: string[] = [];
  for await (const letter of allLetters(page, filter)) ids.push(letter.id);
  return ids;
}

async function discardEach(
  page: LetterPage,
  { ids, because }: { readonly ids: readonly string[]; readonly because: string },
  bar: ProgressBar,
): Promise<number> {
  let discarded = 0;
  try {
    for (const [index, id] of ids.entries()) {
      if (ids.length > 1) bar.show(index, ids.length);
      discarded += (await page.post<{ discarded: number }>('discard', { id, because })).discarded;
    }
  } catch (error) {
    if (discarded === 0 || !(error instanceof CommandError)) throw error;
    throw new CommandError(
      `${error.message} ${discarded} of ${ids.length} are discarded. Run it again for the others.`,
      error.exitCode,
      error.code,
    );
  } finally {
    bar.end();
  }
  return discarded;
}

const AGAIN = 'What was processed stays processed. Run the same command again for the rest.';

/** @throws {CommandError} when it ends before the report; Ctrl-C ends it, and a second one the process */
async function replayLetters(page: LetterPage, request: object, bar: ProgressBar): Promise<ReplayReport> {
  const controller = new AbortController();
  const stop = () => controller.abort();
  process.once('SIGINT', stop);
  let reached = '';
  try {
    for await (const line of page.stream('replay', request, controller.signal)) {
      if (line.report) return line.report as ReplayReport;
      if (line.error) throw failed(line.error);
      if (!line.progress) continue;
      const { done, total, processed, failed: failures } = line.progress as ReplayProgress;
      reached = ` after ${done} of ${total} letters`;
      bar.show(done, total, `${processed} processed, ${failures} failed`);
    }
  } catch (error) {
    if (!controller.signal.aborted) throw error;
    throw new CommandError(`Stopped${reached}. ${AGAIN}`, EXIT.failed, 'STOPPED');
  } finally {
    process.off('SIGINT', stop);
    bar.end();
  }
  const message = `The connection ended in the middle of the replay${reached}. ${AGAIN}`;
  throw new CommandError(message, EXIT.failed, 'REPLAY_CUT');
}

function failed(error: unknown): CommandError {
  const { code = 'REPLAY_FAILED', message = 'The replay failed.' } = Object(error) as Record<string, unknown>;
  return new CommandError(`${message} ${AGAIN}`, EXIT.failed, String(code));
}

/** What became of the letters, by event, and what to do about those that are left. */
function replayText(report: ReplayReport): string {
  const countsText = (counts: ReplayCounts) =>
    ORDER.filter((end) => counts[end] > 0).map((end) => `${counts[end]} ${ENDS[end].label}`);
  const events = report.events.flatMap(({ eventName, issues, ...counts }) => [
    `${printable(eventName)}: ${countsText(counts).join(', ')}`,
    ...issues.map(
      ({ path, count }) => `  does not fit in ${count}: ${path === '' ? 'payload' : printable(path)}`,
    ),
  ]);
  const total = lettersIn(report);
  const verdict =
    total === 0
      ? 'No dead letter matches.'
      : `${lettersLeftIn(report)} of ${total} ${report.dryRun ? 'would be' : 'are'} left.`;
  const hints = ORDER.filter((end) => report[end] > 0 && ENDS[end].hint).map(
    (end) => `${ENDS[end].label}: ${ENDS[end].hint}`,
  );
  const stopped = report.stopped ? ['It was stopped before the last letter. Run it again for the rest.'] : [];
  return [...events, verdict, ...hints, ...stopped].join('\n');
}

export function letterTable(letters: readonly JsonLetter[], filtered: boolean): string {
  const [first] = letters;
  if (!first) return filtered ? 'No dead letter matches.' : 'There are no dead letters.';
  const redriven = letters.some(({ nextTry }) => nextTry !== undefined);
  const rows = letters.map(
    ({ id, reason, eventName, eventId, attempts, keptAt, nextTry, code, discarded }) => [
      ...[id, reason, eventName, eventId, `${attempts}`, localTime(keptAt)],
      ...(redriven ? [nextTry ? localTime(nextTry) : ''] : []),
      ...(discarded ? [discarded.by, localTime(discarded.at), discarded.because] : [code ?? '']),
    ],
  );
  const last = first.discarded ? ['BY', 'DISCARDED', 'BECAUSE'] : ['CODE'];
  return table([
    ['ID', 'REASON', 'EVENT', 'EVENT ID', 'ATTEMPTS', 'KEPT', ...(redriven ? ['NEXT TRY'] : []), ...last],
    ...rows,
  ]);
}

/** Date and time of day, by the clock of this machine. */
function localTime(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  return `${date.toLocaleDateString('sv-SE')} ${date.toTimeString().slice(0, 8)}`;
}

export function letterText(shown: ShownLetter): string {
  const { letter, payload, size, headers = {}, diagnosis = [], body, base64 } = shown;
  const { discarded } = letter;
  const facts = table([
    ['letter', letter.id],
    ['reason', letter.reason + (letter.code ? ` (${letter.code})` : '')],
    ['event', `${letter.eventName}  ${letter.eventId}${letter.sandbox ? '  sandbox' : ''}`],
    ...(letter.keyId === undefined ? [] : [['key', letter.keyId]]),
    ['attempts', `${letter.attempts}`],
    ['kept', localTime(letter.keptAt)],
    ...(letter.nextTry === undefined ? [] : [['next try', localTime(letter.nextTry)]]),
    ...(size === undefined ? [] : [['size', `${size} bytes`]]),
    ...(discarded
      ? [['discarded', `${localTime(discarded.at)} by ${discarded.by}: ${discarded.because}`]]
      : []),
  ]);
  const issues = letter.issues.map(({ path, message }) => `${path === '' ? 'body' : path}: ${message}`);
  const names = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const masked =
    payload === undefined || body !== undefined ? [] : JSON.stringify(payload, null, 2).split('\n');
  return [
    facts,
    ...(diagnosis.length === 0 ? [] : [diagnosis.map(printable).join('\n')]),
    ...section('does not fit', issues),
    ...section('headers', names),
    ...section('payload, each value masked (--reveal shows the body)', masked),
    ...section(base64 ? 'body, as base64 because it is not UTF-8' : 'body', body?.split('\n') ?? []),
  ].join('\n\n');
}

function section(title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  return [`${title}\n${indented(lines)}`];
}
