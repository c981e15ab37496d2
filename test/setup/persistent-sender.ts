// Delivers as the service does: again and again, until it is answered 2xx.
import { setTimeout as pause } from 'node:timers/promises';
import type { SentDelivery } from './delivery.js';
import { type Reply, send } from './endpoint.js';

export { concurrently } from './concurrently.js';

const PAUSE_MS = 50;

/** Every answer to one delivery, the accepting one last. A connection that is refused or cut counts as status 0. */
export async function deliverUntilAccepted(port: number, delivery: SentDelivery, patienceMs = 30_000) {
  const statuses: number[] = [];
  for (const giveUpAt = performance.now() + patienceMs; performance.now() < giveUpAt; await pause(PAUSE_MS)) {
    const { status } = await send(port, delivery).catch((): Pick<Reply, 'status'> => ({ status: 0 }));
    statuses.push(status);
    if (status >= 200 && status < 300) return statuses;
  }
  throw new Error(`Not accepted within ${patienceMs} ms: ${statuses.join(' ')}`);
}
