// Listens to the simulator's stream, loads the lists after every connection, and connects again when it breaks off.
import { api } from './api.js';
import type { Message } from './state.js';

const STREAMED = ['deliveries', 'removed', 'webhooks', 'faults', 'clock', 'reset'] as const;
const PAUSE_MS = 1_500;

/** Sends every change to `dispatch`, until the returned function is called. */
export function listen(dispatch: (message: Message) => void): () => void {
  let leave: (() => void) | undefined;
  let again: ReturnType<typeof setTimeout> | undefined;
  const connect = () => {
    leave = connection(dispatch, () => {
      leave?.();
      dispatch({ type: 'lost' });
      // The browser's own reconnection gives up after an answer that is no stream; this one does not.
      again = setTimeout(connect, PAUSE_MS);
    });
  };
  connect();
  return () => {
    leave?.();
    clearTimeout(again);
  };
}

/** One connection; `lose` is called when it breaks off. Returns the function that ends it. */
function connection(dispatch: (message: Message) => void, lose: () => void): () => void {
  const source = new EventSource('/_sim/stream');
  let over = false;
  let loaded = false;
  // Changes wait for the lists, which are older than they are, and for each other: a burst is drawn once.
  let waiting: Message[] = [];
  const flush = () => {
    if (!loaded || over) return;
    waiting.forEach(dispatch);
    waiting = [];
  };
  source.addEventListener('hello', async (event) => {
    dispatch({ type: 'hello', data: JSON.parse(event.data), at: Date.now() });
    const lists = await load().catch(() => undefined);
    if (over) return;
    if (!lists) return lose();
    dispatch(lists);
    loaded = true;
    flush();
  });
  for (const type of STREAMED) {
    source.addEventListener(type, (event) => {
      if (waiting.length === 0) setTimeout(flush);
      waiting.push({ type, data: JSON.parse(event.data) } as Message);
    });
  }
  source.onerror = lose;
  return () => {
    over = true;
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
