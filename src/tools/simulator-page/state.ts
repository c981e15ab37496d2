// The state that the components share, the stream of messages, and how each message changes the state.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Navigate } from '../pages/components/use-route.js';
import { api, type Fault, type Row, type Sample, type Settings, type Webhook } from './api.js';
import type { Route } from './route.js';

export interface State {
  /** `lost`: the page may be out of date. */
  readonly connection: 'connecting' | 'live' | 'lost';
  /** Whether the lists loaded at least once. */
  readonly loaded: boolean;
  readonly settings: Settings | undefined;
  /** How far the simulator's clock is ahead of this browser's, in milliseconds. */
  readonly skew: number;
  /** Newest first. */
  readonly rows: readonly Row[];
  /** How many older deliveries the simulator has. */
  readonly older: number;
  readonly webhooks: readonly Webhook[];
  readonly faults: readonly Fault[];
  readonly samples: readonly Sample[];
}

interface Shared extends State {
  readonly route: Route;
  readonly navigate: Navigate<Route>;
  readonly loadOlder: () => Promise<void>;
}

/** The page always provides a value. */
export const SimulatorContext = createContext({} as Shared);

export const useSimulator = () => useContext(SimulatorContext);

/** A message from the stream, or a change of the connection. */
export type Message =
  | { readonly type: 'hello'; readonly data: Settings; readonly at: number }
  | {
      readonly type: 'lists';
      readonly data: Pick<State, 'rows' | 'older' | 'webhooks' | 'faults' | 'samples'>;
    }
  | { readonly type: 'older'; readonly data: Pick<State, 'rows' | 'older'> }
  | { readonly type: 'deliveries'; readonly data: readonly Row[] }
  | { readonly type: 'removed'; readonly data: readonly string[] }
  | { readonly type: 'webhooks'; readonly data: readonly Webhook[] }
  | { readonly type: 'faults'; readonly data: readonly Fault[] }
  | { readonly type: 'clock'; readonly data: { readonly now: string } }
  | { readonly type: 'reset' | 'lost' };

export const initialState: State = {
  connection: 'connecting',
  loaded: false,
  settings: undefined,
  skew: 0,
  rows: [],
  older: 0,
  webhooks: [],
  faults: [],
  samples: [],
};

export function reduce(state: State, message: Message): State {
  switch (message.type) {
    case 'hello':
      return { ...state, settings: message.data, skew: Date.parse(message.data.now) - message.at };
    case 'lists':
      return { ...state, ...message.data, connection: 'live', loaded: true };
    case 'deliveries':
      return { ...state, ...merge(state, message.data) };
    case 'older': {
      const known = new Set(state.rows.map(({ id }) => id));
      const rows = [...state.rows, ...message.data.rows.filter(({ id }) => !known.has(id))];
      return { ...state, rows, older: message.data.older };
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
      return { ...state, rows: [], older: 0, webhooks: [], faults: [] };
    case 'lost':
      return { ...state, connection: 'lost' };
  }
}

/** Replaces known rows in place and adds new ones, which arrive oldest first, at the front. Ignores rows that are not loaded yet. */
function merge({ rows, older }: State, changed: readonly Row[]): Pick<State, 'rows'> {
  const added = new Map(changed.map((row) => [row.id, row]));
  const merged = rows.map((row) => {
    const replacement = added.get(row.id);
    added.delete(row.id);
    return replacement ?? row;
  });
  const [newest] = rows;
  const isNew = (row: Row) => older === 0 || !newest || row.created_at >= newest.created_at;
  return { rows: [...[...added.values()].filter(isNew).reverse(), ...merged] };
}

const EVENTS = ['deliveries', 'removed', 'webhooks', 'faults', 'clock', 'reset'] as const;
const RECONNECT_MS = 1_500;

/** Dispatches every change until the page closes. */
export function follow(dispatch: (message: Message) => void): void {
  const source = new EventSource('/_sim/stream');
  let loaded = false;
  let lost = false;
  // Queues changes until the lists have loaded, and batches a burst into one render.
  let waiting: Message[] = [];
  const flush = () => {
    if (!loaded || lost) return;
    waiting.forEach(dispatch);
    waiting = [];
  };
  const reconnect = () => {
    if (lost) return;
    lost = true;
    source.close();
    dispatch({ type: 'lost' });
    // The browser stops reconnecting after a response that is not a stream.
    setTimeout(follow, RECONNECT_MS, dispatch);
  };
  source.onerror = reconnect;
  source.addEventListener('hello', async (event) => {
    dispatch({ type: 'hello', data: JSON.parse(event.data), at: Date.now() });
    const lists = await load().catch(reconnect);
    if (!lists || lost) return;
    dispatch(lists);
    loaded = true;
    flush();
  });
  for (const type of EVENTS) {
    source.addEventListener(type, (event) => {
      if (waiting.length === 0) setTimeout(flush);
      waiting.push({ type, data: JSON.parse(event.data) } as Message);
    });
  }
}

async function load(): Promise<Message> {
  const lists = [api.rows(), api.webhooks(), api.faults(), api.samples()] as const;
  const [{ data: rows, total }, webhooks, faults, samples] = await Promise.all(lists);
  return { type: 'lists', data: { rows, older: total - rows.length, webhooks, faults, samples } };
}

/** The next page of older deliveries. @param known how many are loaded */
export async function olderThan(known: number): Promise<Message> {
  const { data: rows, total } = await api.rows(known);
  return { type: 'older', data: { rows, older: Math.max(0, total - known - rows.length) } };
}
