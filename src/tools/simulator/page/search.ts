// Filters rows by a search such as `status:failed event:transaction.* order-7`.

import { matchesEvent } from '../../../events/event-pattern.js';
import { partsOf, readSearch, type SearchParts } from '../../web/components/search.js';
import type { Row } from './api.js';
import { type ShownStatus, STATUS_LABELS, shownStatus } from './texts.js';

const KEYS = new Map<string, (row: Row, value: string) => boolean>([
  ['status', (row, value) => shownStatus(row) === value],
  // Without a dot, the user is still typing the name.
  [
    'event',
    ({ event_name: name }, value) =>
      matchesEvent(value, name) || (!value.includes('.') && name.startsWith(value)),
  ],
  ['webhook', (row, value) => row.webhook_id.startsWith(value)],
  ['id', (row, value) => row.id.startsWith(value) || row.event_id.startsWith(value)],
  ['code', isCode],
  // The simulator searches the bodies.
  ['payload', () => true],
]);

const USE_KEYS = [...KEYS.keys()].map((key) => `${key}:`).join(', ');
const STATUSES = Object.keys(STATUS_LABELS);

/** A row matches if it has one of the values of each key, and contains all words. */
export function parseSearch(text: string): SearchParts {
  const { tokens, words, problems } = readSearch(text, (key, value) => {
    if (!KEYS.has(key)) return `Unknown filter "${key}:". Use one of ${USE_KEYS}.`;
    if (key !== 'status' || STATUSES.includes(value)) return undefined;
    if (STATUSES.some((status) => status.startsWith(value))) return '';
    return `Unknown status "${value}". Use one of ${STATUSES.join(', ')}.`;
  });
  return { tokens, words: words.map((word) => word.toLowerCase()), problems };
}

export function matches({ tokens, words }: SearchParts, row: Row): boolean {
  for (const [key, values] of tokens) if (!values.some((value) => KEYS.get(key)?.(row, value))) return false;
  if (words.length === 0) return true;
  const text = `${row.id} ${row.event_id} ${row.event_name} ${row.url}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

export function anyStatus(search: SearchParts): SearchParts {
  return { ...search, tokens: new Map([...search.tokens].filter(([key]) => key !== 'status')) };
}

/** The text with the status filter replaced; an empty list removes it. */
export function withStatus(text: string, statuses: readonly ShownStatus[]): string {
  const others = partsOf(text).filter((part) => !part.startsWith('status:'));
  return [...(statuses.length > 0 ? [`status:${statuses.join(',')}`] : []), ...others].join(' ');
}

/** `404`, `4xx`, or an error code such as `ECONNREFUSED`. */
function isCode(row: Row, value: string): boolean {
  const code = String(row.last?.status ?? row.last?.error ?? '');
  const pattern = value.toLowerCase();
  return pattern.endsWith('xx') ? code.startsWith(pattern.slice(0, -2)) : code.toLowerCase() === pattern;
}
