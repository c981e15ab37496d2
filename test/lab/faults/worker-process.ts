// What the worker processes of all campaigns do.
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { HANDLER_TEXT } from './merchant.js';

// A campaign fails when it sees this exit code.
for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
  process.on(event, (error) => {
    process.stderr.write(`${event} ${inspect(error)}\n`);
    process.exit(99);
  });
}

/** Tells the campaign the port. */
export function serve(listener: RequestListener): Server {
  const server = createServer(listener).listen(0, '127.0.0.1', () => {
    process.send?.((server.address() as AddressInfo).port);
  });
  return server;
}

/** What a handler does: one in 33 fails, and there is time for faults. */
export async function work(effect: () => Promise<unknown>): Promise<void> {
  await pause(Math.random() * 20);
  // Before the effect, so that a failure alone never explains a second row.
  if (Math.random() < 0.03) throw new Error(HANDLER_TEXT);
  await effect();
  // The time between effect and completion, long enough for a kill to fall into.
  await pause(Math.random() * 20);
}
