// Subscribes to the stream of the simulator: loads the lists after each connection, and reconnects.
import { api } from './api.js';
import type { Message } from './state.js';

const EVENTS = ['deliveries', 'removed', 'webhooks', 'faults', 'clock', 'reset'] as const;
const RECONNECT_MS = 1_500;

/** Sends every change to `dispatch`, until the returned function is called. */
export function subscribe(dispatch: (message: Message) => void): () => void {
  let disconnect: (() => void) | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  const connect = () => {
    disconnect = connection(dispatch, () => {
      disconnect?.();
      dispatch({ type: 'lost' });
      // The reconnection of the browser gives up after a response that is not a stream.
      retry = setTimeout(connect, RECONNECT_MS);
    });
  };
  connect();
  return () => {
    disconnect?.();
    clearTimeout(retry);
  };
}

/** One connection; calls `onLost` when it breaks. Returns the function that ends it. */
function connection(dispatch: (message: Message) => void, onLost: () => void): () => void {
  const source = new EventSource('/_sim/stream');
  let ended = false;
  let loaded = false;
  // Changes wait for the lists, which are older, and for each other: a burst is rendered once.
  let waiting: Message[] = [];
  const flush = () => {
    if (!loaded || ended) return;
    waiting.forEach(dispatch);
    waiting = [];
  };
  source.addEventListener('hello', async (event) => {
    dispatch({ type: 'hello', data: JSON.parse(event.data), at: Date.now() });
    const lists = await load().catch(() => undefined);
    if (ended) return;
    if (!lists) return onLost();
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
  source.onerror = onLost;
  return () => {
    ended = true;
    source.close();
  };
}

async function load(): Promise<Message> {
  const [rows, webhooks, faults, samples] = await Promise.all([
    api.rows(),
    api.webhooks(),
    api.faults(),
    api.samples(),
  ]);
  return { type: 'lists', data: { rows, webhooks, faults, samples } };
}
