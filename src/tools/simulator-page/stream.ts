// Follows the stream of the simulator: loads the lists after each connection, and reconnects.
import { api } from './api.js';
import type { Message } from './state.js';

const EVENTS = ['deliveries', 'removed', 'webhooks', 'faults', 'clock', 'reset'] as const;
const RECONNECT_MS = 1_500;

/** Sends every change to `dispatch`, as long as the page is open. */
export function follow(dispatch: (message: Message) => void): void {
  const source = new EventSource('/_sim/stream');
  let loaded = false;
  let lost = false;
  // Changes wait for the lists, which are older, and for each other: a burst is rendered once.
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
    // The reconnection of the browser gives up after a response that is not a stream.
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
  const [rows, webhooks, faults, samples] = await Promise.all(lists);
  return { type: 'lists', data: { rows, webhooks, faults, samples } };
}
