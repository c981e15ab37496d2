// A process that receives with its default logger, and ends in one of several ways: `tsx logging-life.ts WAY`.
import { setImmediate as turn } from 'node:timers/promises';
import { receiver } from 'payment-webhooks';
import { delivery, KEY } from './delivery.js';

const way = process.argv[2];
const MANY = 300;

const hooks = receiver({ privateKey: KEY }).on('*', () => {});

async function receive(): Promise<number> {
  const { body, headers } = delivery();
  return (await hooks.receive({ rawBody: body, headers })).status;
}

const statuses = new Set(await Promise.all(Array.from({ length: MANY }, receive)));
if (way === 'exits') process.exit(0);
if (way === 'throws') throw new Error('thrown in the turn of the last line');
if (way === 'goes on') {
  // By then nothing more can be written.
  await new Promise((resolve) => process.stdin.once('end', resolve).resume());
  for (const _ of 'abc') {
    await turn();
    statuses.add(await receive());
  }
  console.error([...statuses].join(' '));
}
