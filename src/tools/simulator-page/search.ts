// The search: parses `status:failed event:transaction.*` and plain words, and filters rows by them.
import { didYouMean } from '../../errors.js';
import { deliveryStatuses } from '../simulator/delivery/delivery-status.js';
import { matchesEvent } from '../simulator/event-pattern.js';
import type { DeliveryStatus, Row } from './api.js';

type Test = (row: Row, value: string) => boolean;

const KEYS: ReadonlyMap<string, Test> = new Map([
  ['status', (row, value) => row.status === value],
  ['event', (row, value) => matchesEvent(value, row.event_name) || isEventPrefix(value, row.event_name)],
  ['webhook', (row, value) => row.webhook_id.startsWith(value)],
  ['id', (row, value) => row.id.startsWith(value) || row.event_id.startsWith(value)],
  ['code', (row, value) => isCode(row, value)],
]);

const USE_KEYS = ` Use one of ${[...KEYS.keys()].map((key) => `${key}:`).join(', ')}.`;

export interface Search {
  /** Values by key. A row matches when it fits one value of each key. */
  readonly tokens: ReadonlyMap<string, readonly string[]>;
  /** In lower case. A row must contain all of them. */
  readonly words: readonly string[];
  /** What is wrong with the search, and what to type. */
  readonly problems: readonly string[];
}

export function parseSearch(text: string): Search {
  const tokens = new Map<string, string[]>();
  const words: string[] = [];
  const problems: string[] = [];
  for (const part of text.split(/\s+/).filter(Boolean)) {
    const [, key, value] = /^([a-z]+):(?!\/\/)(.*)$/i.exec(part) ?? [];
    if (key === undefined || value === undefined) words.push(part.toLowerCase());
    else if (!KEYS.has(key))
      problems.push(`Unknown filter "${key}:".${didYouMean(key, KEYS.keys()) || USE_KEYS}`);
    else {
      const values = value.split(',').filter((one) => one !== '');
      const known = values.filter((one) => key !== 'status' || isStatus(one));
      const unknown = values.find((one) => !known.includes(one) && !isStatusPrefix(one));
      if (unknown) problems.push(`Unknown status "${unknown}". Use one of ${deliveryStatuses.join(', ')}.`);
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

/** The search without its status filter. */
export function anyStatus(search: Search): Search {
  return { ...search, tokens: new Map([...search.tokens].filter(([key]) => key !== 'status')) };
}

/** The text with the status filter replaced; an empty list removes it. */
export function withStatus(text: string, statuses: readonly DeliveryStatus[]): string {
  const others = text.split(/\s+/).filter((part) => part !== '' && !part.startsWith('status:'));
  return [...(statuses.length > 0 ? [`status:${statuses.join(',')}`] : []), ...others].join(' ');
}

function isStatus(text: string): text is DeliveryStatus {
  return (deliveryStatuses as readonly string[]).includes(text);
}

/** A status that is still being typed. */
function isStatusPrefix(text: string): boolean {
  return deliveryStatuses.some((status) => status.startsWith(text));
}

/** An event name that is still being typed. */
function isEventPrefix(value: string, name: string): boolean {
  return !value.includes('.') && name.startsWith(value);
}

/** `404`, `4xx`, or an error code such as `ECONNREFUSED`. */
function isCode(row: Row, value: string): boolean {
  const code = String(row.last?.status ?? row.last?.error ?? '');
  const pattern = value.toLowerCase();
  return pattern.endsWith('xx') ? code.startsWith(pattern.slice(0, -2)) : code.toLowerCase() === pattern;
}
