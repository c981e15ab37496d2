// What the components share: the state of the simulator, which its stream keeps up to date, and the route.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Navigate } from '../../web/components/use-route.js';
import { api } from './api.js';
import type { Route } from './route.js';
import type { Message, State } from './state.js';

interface Shared extends State {
  readonly route: Route;
  readonly navigate: Navigate<Route>;
  readonly loadOlder: () => Promise<void>;
}

/** The page always provides a value. */
export const SimulatorContext = createContext({} as Shared);

export const useSimulator = () => useContext(SimulatorContext);

const EVENTS = ['deliveries', 'removed', 'webhooks', 'faults', 'clock', 'reset'] as const;
const RECONNECT_MS = 1_500;

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
