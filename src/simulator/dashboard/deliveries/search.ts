// The search box: `status:failed event:transaction.*` and plain words, as a filter over rows.
import { didYouMean } from '../../../nearest-name.js';
import { matchesEvent } from '../../event-pattern.js';
import type { Row, Status } from '../live/wire.js';

export const STATUSES: readonly Status[] = [
  'pending',
  'in_flight',
  'retrying',
  'delivered',
  'failed',
  'cancelled',
];

type Test = (row: Row, value: string) => boolean;

const KEYS: ReadonlyMap<string, Test> = new Map([
  ['status', (row, value) => row.status === value],
  ['event', (row, value) => matchesEvent(value, row.event_name) || isBeginning(value, row.event_name)],
  ['webhook', (row, value) => row.webhook_id.startsWith(value)],
  ['id', (row, value) => row.id.startsWith(value) || row.event_id.startsWith(value)],
  ['code', (row, value) => isCode(row, value)],
]);

/** A search as it was understood. */
export interface Search {
  /** Values by key; one of them must fit, for every key. */
  readonly tokens: ReadonlyMap<string, readonly string[]>;
  /** Lower case; every one must stand in the row. */
  readonly words: readonly string[];
  /** What could not be understood, in words that say what to type. */
  readonly problems: readonly string[];
}

export function parseSearch(text: string): Search {
  const tokens = new Map<string, string[]>();
  const words: string[] = [];
  const problems: string[] = [];
  for (const part of text.split(/\s+/).filter(Boolean)) {
    const [, key, value] = /^([a-z]+):(?!\/\/)(.*)$/i.exec(part) ?? [];
    if (key === undefined || value === undefined) words.push(part.toLowerCase());
    else if (!KEYS.has(key)) problems.push(`There is no filter “${key}:”.${didYouMean(key, KEYS.keys())}`);
    else {
      const values = value.split(',').filter((one) => one !== '');
      const known = values.filter((one) => key !== 'status' || isStatus(one));
      if (values.some((one) => !known.includes(one) && !isStatusBegun(one)))
        problems.push(`A status is one of ${STATUSES.join(', ')}.`);
      if (known.length > 0) tokens.set(key, [...(tokens.get(key) ?? []), ...known]);
    }
  }
  return { tokens, words, problems };
}

export function matches({ tokens, words }: Search, row: Row): boolean {
  for (const [key, values] of tokens) {
    if (!values.some((value) => KEYS.get(key)?.(row, value))) return false;
  }
  if (words.length === 0) return true;
  const text = `${row.id} ${row.event_id} ${row.event_name} ${row.url}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The text with another status filter in place of the present one; `undefined` takes it away. */
export function withStatus(text: string, statuses: readonly Status[]): string {
  const others = text.split(/\s+/).filter((part) => part !== '' && !part.startsWith('status:'));
  return [...(statuses.length > 0 ? [`status:${statuses.join(',')}`] : []), ...others].join(' ');
}

function isStatus(text: string): text is Status {
  return (STATUSES as readonly string[]).includes(text);
}

/** One that is still being typed. */
function isStatusBegun(text: string): boolean {
  return STATUSES.some((status) => status.startsWith(text));
}

/** A name that is still being typed. */
function isBeginning(value: string, name: string): boolean {
  return !value.includes('.') && name.startsWith(value);
}

/** `404`, `4xx`, or an error code such as `ECONNREFUSED`. */
function isCode(row: Row, value: string): boolean {
  const code = String(row.last?.status ?? row.last?.error ?? '');
  const pattern = value.toLowerCase();
  return pattern.endsWith('xx') ? code.startsWith(pattern.slice(0, -2)) : code.toLowerCase() === pattern;
}
