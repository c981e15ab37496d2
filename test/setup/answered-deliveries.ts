// Receives thousands of deliveries, and prints by how many bytes for each the old generation grew, round by round.
import { setImmediate as turn } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import { receiver } from 'payment-webhooks';
import { delivery, KEY } from './delivery.js';

const ROUNDS = 4;
const DELIVERIES = 5_000;

const hooks = receiver({ privateKey: KEY, logger: false, store: false, handlers: { '*': async () => {} } });

function oldBytes(): number {
  const old = getHeapSpaceStatistics().filter(({ space_name }) => space_name.startsWith('old'));
  return old.reduce((sum, { space_used_size }) => sum + space_used_size, 0);
}

async function round(): Promise<number> {
  const before = oldBytes();
  for (let count = 0; count < DELIVERIES; count += 1) {
    const { body, headers } = delivery();
    const { status } = await hooks.receive({ rawBody: body, headers });
    if (status !== 200) throw new Error(`A good delivery was answered ${status}.`);
    if (count % 50 === 0) await turn();
  }
  return (oldBytes() - before) / DELIVERIES;
}

await round();
const grown: number[] = [];
while (grown.length < ROUNDS) grown.push(await round());
console.log(JSON.stringify(grown));
