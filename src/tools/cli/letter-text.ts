// Dead letters as text: a table of many, or everything about one.
import type { JsonLetter } from './letter-page.js';
import { printable, table } from './print.js';

/** A letter with all that the page tells of it. */
export interface ShownLetter {
  readonly letter: JsonLetter;
  /** The parsed body, with every value masked. */
  readonly payload?: unknown;
  /** Bytes of the body. */
  readonly size?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sentences: what is wrong, and what to do. */
  readonly diagnosis?: readonly string[];
  /** The exact body, where it was revealed. */
  readonly body?: string;
  /** Whether `body` is base64, because it is not UTF-8. */
  readonly base64?: boolean;
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
  return [`${title}\n${lines.map((line) => `  ${printable(line)}`.trimEnd()).join('\n')}`];
}
