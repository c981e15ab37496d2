// `dead-letters …`: lists, shows, replays and discards the dead letters of an app, through its page.
import type { ReplayCounts, ReplayProgress, ReplayReport } from '../../dead-letters/replay.js';
import { ENDS, lettersIn, lettersLeftIn, ORDER } from '../letters/replay-text.js';
import type { JsonLetter, LetterContent, Revealed } from '../letters/server/letter-json.js';
import { CommandError, command, EXIT, flag, text, UsageError } from './command.js';
import { defined, notEmpty, oneOf, wholeNumber } from './flag-values.js';
import {
  filterOf,
  filterOptions,
  type LetterFilter,
  type LetterPage,
  openLetterPage,
  pageOptions,
  WITH_PAGE,
} from './letter-page.js';
import { indented, type ProgressBar, printable, progressBar, table } from './print.js';
import { confirm } from './read-input.js';

export const list = command({
  about: 'Lists the dead letters of an app, oldest first: authentic events that were not processed.',
  options: {
    ...filterOptions,
    discarded: flag('List discarded letters instead: who discarded them, when and why.'),
    limit: text({ N: '1000' }, 'At most this many. Default: 50.', { read: wholeNumber(1, 1_000_000) }),
    ...pageOptions,
  },
  examples: {
    [`payment-webhooks dead-letters list ${WITH_PAGE}`]: 'the oldest fifty',
    [`payment-webhooks dead-letters list --reason invalid --since 7d ${WITH_PAGE}`]:
      'payloads that did not match their schema',
  },
  async run({ values, terminal }) {
    const filter = defined({ ...filterOf(values), discarded: values.discarded ? 'true' : undefined });
    const { limit = 50 } = values;
    const page = await openLetterPage(values);
    const letters: JsonLetter[] = [];
    let more = false;
    for await (const letter of page.letters(filter)) {
      more = letters.length === limit;
      if (more) break;
      letters.push(letter);
    }
    const notes = more ? [`There are more than ${limit}. Raise --limit, or add a filter.`] : [];
    const filtered = Object.keys(filter).length > 0;
    return { values: letters, text: letterTable(letters, filtered, terminal.stdout.columns), notes };
  },
});

export const show = command({
  about:
    'Shows one dead letter: why it was kept, what to do, its headers, and its payload with every value masked. With --reveal it shows the exact body too; the app logs who asked for it.',
  arguments: [{ name: 'ID', about: 'the id of the letter, as `dead-letters list` shows it', read: notEmpty }],
  options: { reveal: flag('Show the exact body, which may hold personal data.'), ...pageOptions },
  examples: {
    [`payment-webhooks dead-letters show "$LETTER_ID" ${WITH_PAGE}`]: 'why it was not processed',
    [`payment-webhooks dead-letters show "$LETTER_ID" --reveal --json ${WITH_PAGE} | jq -r .body`]:
      'only its body',
  },
  async run({ positionals: [id = ''], values }) {
    const page = await openLetterPage(values);
    const masked = await page.get<ShownLetter>(`letters/${encodeURIComponent(id)}`);
    const letter = { ...masked, ...(values.reveal && (await page.reveal(id))) };
    return { values: [letter], text: letterText(letter) };
  },
});

export const replay = command({
  about:
    'Runs the current handlers of the app for dead letters, with its current schemas. An event that was processed is not processed again, so you can stop a replay with Ctrl-C and start it again at any time. Without a filter it replays every letter. The exit code is 0 when no letter is left, else 1.',
  options: {
    ...filterOptions,
    'dry-run': flag('Only say what would happen: no handler runs, and nothing changes.'),
    keys: text(
      { KEYS: 'any' },
      'any: also replay letters whose private key is not configured. Do not use it after a leak.',
      { read: oneOf(['configured', 'any']) },
    ),
    concurrency: text({ N: '4' }, 'How many letters at once. Default: 1, oldest first.', {
      read: wholeNumber(1, 100),
    }),
    ...pageOptions,
  },
  examples: {
    [`payment-webhooks dead-letters replay --event 'refund.*' --dry-run ${WITH_PAGE}`]: 'what would happen',
    [`payment-webhooks dead-letters replay --event 'refund.*' --concurrency 4 ${WITH_PAGE}`]: 'process them',
  },
  async run({ values, terminal }) {
    const { 'dry-run': dryRun, keys, concurrency } = values;
    const request = { ...filterOf(values), dryRun, keys, concurrency };
    const page = await openLetterPage(values);
    const report = await replayLetters(page, request, progressBar(terminal));
    const isDone = lettersLeftIn(report) === 0 && report.stopped === undefined;
    return { values: [report], text: replayText(report), exitCode: isDone ? EXIT.ok : EXIT.failed };
  },
});

export const discard = command({
  about:
    'Deletes the body and headers of dead letters for good, and records who did so, when and why. It discards the letters that match when it starts. It asks first if there are several; without a terminal, give --yes.',
  options: {
    ...filterOptions,
    because: text({ TEXT: 'duplicate' }, 'Why, in a few words. It is recorded with your name.'),
    yes: flag('Do not ask.'),
    ...pageOptions,
  },
  examples: {
    [`payment-webhooks dead-letters discard --id "$LETTER_ID" --because "test data" ${WITH_PAGE}`]:
      'one letter',
    [`payment-webhooks dead-letters discard --event 'test.*' --because "test data" ${WITH_PAGE}`]:
      'every letter that matches',
  },
  async run({ values, terminal }) {
    const { because = '' } = values;
    if (because.trim() === '')
      throw new UsageError('--because is missing. Say why, such as --because "test data".');
    const filter = filterOf(values);
    if (Object.keys(filter).length === 0) {
      throw new UsageError("Say which letters: give --id or another filter; --event '*' is all of them.");
    }
    const page = await openLetterPage(values);
    const ids = await idsOf(page, filter);
    if (ids.length === 0) return { values: [{ discarded: 0 }], text: 'No dead letter matches.' };
    if (ids.length > 1 && !values.yes) {
      await confirm(`Discard ${ids.length} dead letters? Their bytes are deleted for good.`, terminal);
    }
    const discarded = await discardEach(page, ids, because, progressBar(terminal));
    const others = 'are gone, or their events are being processed.';
    if (discarded === 0)
      throw new CommandError(`Nothing was discarded: the letters ${others}`, EXIT.failed, 'NOT_FOUND');
    const rest = discarded < ids.length ? ` The others ${others}` : '';
    return { values: [{ discarded }], text: `${discarded} discarded.${rest}` };
  },
});

/** Read before the question, so that a letter that arrives later is not discarded. */
async function idsOf(page: LetterPage, { id, ...filter }: LetterFilter): Promise<string[]> {
  if (id !== undefined && Object.keys(filter).length > 0)
    throw new UsageError('--id names one letter. Leave out the other filters.');
  if (id !== undefined) return [id];
  const ids: string[] = [];
  for await (const letter of page.letters(filter)) ids.push(letter.id);
  return ids;
}

async function discardEach(page: LetterPage, ids: string[], because: string, bar: ProgressBar) {
  let discarded = 0;
  try {
    for (const [index, id] of ids.entries()) {
      if (ids.length > 1) bar.show(index, ids.length);
      discarded += (await page.post<{ discarded: number }>('discard', { id, because })).discarded;
    }
  } catch (error) {
    if (discarded === 0 || !(error instanceof CommandError)) throw error;
    const done = `${discarded} of ${ids.length} are discarded. Run it again for the others.`;
    throw new CommandError(`${error.message} ${done}`, error.exitCode, error.code);
  } finally {
    bar.end();
  }
  return discarded;
}

const AGAIN = 'What was processed stays processed. Run the same command again for the rest.';

/** @throws {CommandError} when it ends before the report. Ctrl-C stops it; a second Ctrl-C ends the process. */
async function replayLetters(page: LetterPage, request: object, bar: ProgressBar): Promise<ReplayReport> {
  const controller = new AbortController();
  const stop = () => controller.abort();
  process.once('SIGINT', stop);
  let reached = '';
  try {
    for await (const line of page.stream('replay', request, controller.signal)) {
      if (line.report) return line.report as ReplayReport;
      if (line.error) {
        const { code, message } = { code: 'REPLAY_FAILED', message: 'The replay failed.', ...line.error };
        throw new CommandError(`${message} ${AGAIN}`, EXIT.failed, String(code));
      }
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

function replayText(report: ReplayReport): string {
  const endsIn = (counts: ReplayCounts) => ORDER.filter((end) => counts[end] > 0);
  const countsIn = (counts: ReplayCounts) => endsIn(counts).map((end) => `${counts[end]} ${ENDS[end].label}`);
  const events = report.events.flatMap((event) => [
    `${printable(event.eventName)}: ${countsIn(event).join(', ')}`,
    ...event.issues.map(({ path, count }) => `  schema error in ${count}: ${printable(path || 'payload')}`),
  ]);
  const total = lettersIn(report);
  const left = `${lettersLeftIn(report)} of ${total} ${report.dryRun ? 'would be left' : 'left'}.`;
  const hints = endsIn(report).flatMap((end) => {
    const { label, hint } = ENDS[end];
    return hint === undefined ? [] : [`${label}: ${hint}`];
  });
  const stopped = 'The replay stopped before the last letter. Run it again for the rest.';
  const verdict = total === 0 ? 'No dead letter matches.' : left;
  return [...events, verdict, ...hints, ...(report.stopped ? [stopped] : [])].join('\n');
}

function letterTable(letters: readonly JsonLetter[], filtered: boolean, room: number | undefined): string {
  const [first] = letters;
  if (!first) return filtered ? 'No dead letter matches.' : 'There are no dead letters.';
  const redriven = letters.some(({ nextTry }) => nextTry !== undefined);
  const rows = letters.map(
    ({ id, reason, eventName, eventId, attempts, keptAt, nextTry, code, cause, discarded }) => [
      ...[id, reason, eventName, eventId, `${attempts}`, localTime(keptAt)],
      ...(redriven ? [nextTry ? localTime(nextTry) : ''] : []),
      ...(discarded ? [discarded.by, localTime(discarded.at), discarded.because] : [cause ?? code ?? '']),
    ],
  );
  const last = first.discarded ? ['BY', 'DISCARDED', 'BECAUSE'] : ['CAUSE'];
  const headings = ['ID', 'REASON', 'EVENT', 'EVENT ID', 'ATTEMPTS', 'KEPT'];
  return table([[...headings, ...(redriven ? ['NEXT TRY'] : []), ...last], ...rows], room);
}

function localTime(iso: string): string {
  const date = new Date(iso);
  // The Swedish locale formats dates like ISO 8601.
  return Number.isNaN(date.getTime()) ? iso : date.toLocaleString('sv-SE');
}

/** Another version of the page may leave out fields. */
type ShownLetter = Pick<LetterContent, 'letter'> & Partial<LetterContent & Revealed>;

function letterText(shown: ShownLetter): string {
  const { letter, payload, size, headers = {}, diagnosis = [], body, base64 } = shown;
  const { discarded, nextTry } = letter;
  const facts = [
    ['letter', letter.id],
    ['reason', letter.reason + (letter.code ? ` (${letter.code})` : '')],
    ['cause', letter.cause],
    ['event', `${letter.eventName}  ${letter.eventId}${letter.sandbox ? '  sandbox' : ''}`],
    ['key', letter.keyId],
    ['attempts', `${letter.attempts}`],
    ['kept', localTime(letter.keptAt)],
    ['next try', nextTry && localTime(nextTry)],
    ['size', size === undefined ? undefined : `${size} bytes`],
    ['discarded', discarded && `${localTime(discarded.at)} by ${discarded.by}: ${discarded.because}`],
  ].filter((fact): fact is string[] => fact[1] !== undefined);
  const issues = letter.issues.map(({ path, message }) => `${path || 'body'}: ${message}`);
  const names = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const masked =
    body === undefined && payload !== undefined ? JSON.stringify(payload, null, 2).split('\n') : [];
  return [
    table(facts),
    diagnosis.map(printable).join('\n'),
    section('schema errors', issues),
    section('headers', names),
    section('payload, each value masked (--reveal shows the body)', masked),
    section(base64 ? 'body, as base64 because it is not UTF-8' : 'body', body?.split('\n') ?? []),
  ]
    .filter(Boolean)
    .join('\n\n');
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${title}\n${indented(lines)}`;
}
