// The state of the page, and how each message changes it.
import type { Fault, Found, Row, Sample, Settings, Webhook } from './api.js';

export interface State {
  /** `lost`: the page may be out of date. */
  readonly connection: 'connecting' | 'live' | 'lost';
  /** Whether the lists loaded at least once. */
  readonly loaded: boolean;
  readonly settings: Settings | undefined;
  /** How far the simulator's clock is ahead of this browser's, in milliseconds. */
  readonly skew: number;
  readonly rows: readonly Row[];
  readonly older: number;
  readonly webhooks: readonly Webhook[];
  readonly faults: readonly Fault[];
  readonly samples: readonly Sample[];
}

export type Message =
  | { readonly type: 'hello'; readonly data: Settings; readonly at: number }
  | { readonly type: 'lists'; readonly data: Omit<State, 'connection' | 'loaded' | 'settings' | 'skew'> }
  | { readonly type: 'older'; readonly data: Found }
  | { readonly type: 'deliveries'; readonly data: readonly Row[] }
  | { readonly type: 'removed'; readonly data: readonly string[] }
  | { readonly type: 'webhooks'; readonly data: readonly Webhook[] }
  | { readonly type: 'faults'; readonly data: readonly Fault[] }
  | { readonly type: 'clock'; readonly data: { readonly now: string } }
  | { readonly type: 'reset' | 'lost' };

const EMPTY = { rows: [], older: 0, webhooks: [], faults: [] };

export const initialState: State = {
  ...EMPTY,
  connection: 'connecting',
  loaded: false,
  settings: undefined,
  skew: 0,
  samples: [],
};

export function reduce(state: State, message: Message): State {
  switch (message.type) {
    case 'hello':
      return { ...state, settings: message.data, skew: Date.parse(message.data.now) - message.at };
    case 'lists':
      return { ...state, ...message.data, connection: 'live', loaded: true };
    case 'deliveries':
      return { ...state, rows: merge(state, message.data) };
    case 'older': {
      const known = new Set(state.rows.map(({ id }) => id));
      const rows = [...state.rows, ...message.data.data.filter(({ id }) => !known.has(id))];
      return { ...state, rows, older: Math.max(0, message.data.total - rows.length) };
    }
    case 'removed': {
      const removed = new Set(message.data);
      const rows = state.rows.filter((row) => !removed.has(row.id));
      const older = state.older - (removed.size - (state.rows.length - rows.length));
      return { ...state, rows, older: Math.max(0, older) };
    }
    case 'webhooks':
    case 'faults':
      return { ...state, [message.type]: message.data };
    case 'clock':
      return { ...state, settings: state.settings && { ...state.settings, now: message.data.now } };
    case 'reset':
      return { ...state, ...EMPTY };
    case 'lost':
      return { ...state, connection: 'lost' };
  }
}

/** Replaces known rows in place and adds new ones, which arrive oldest first, at the front. Ignores rows that are not loaded yet. */
function merge({ rows, older }: State, changed: readonly Row[]): readonly Row[] {
  const added = new Map(changed.map((row) => [row.id, row]));
  const merged = rows.map((row) => {
    const replacement = added.get(row.id);
    added.delete(row.id);
    return replacement ?? row;
  });
  const [newest] = rows;
  const isNew = (row: Row) => older === 0 || !newest || row.created_at >= newest.created_at;
  return [...[...added.values()].filter(isNew).reverse(), ...merged];
}
