// Receivers in a process of their own, so that its heap and its unhandled rejections are theirs alone.
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import express from 'express';
import express4 from 'express4';
import { type ReceiverOptions, receiver } from 'payment-webhooks';

/** What a handler was given; as text, for it crosses to another process. */
export interface Run {
  readonly body: string;
  readonly signature: unknown;
}

export interface Report {
  /** Since the last report. */
  readonly runs: readonly Run[];
  readonly unhandled: readonly string[];
  /** Objects, and the bytes outside the heap that they hold. */
  readonly heldBytes: number;
  readonly inFlight: number;
}

if (process.send) serve(JSON.parse(process.argv[2] ?? '{}'));

async function serve(options: ReceiverOptions): Promise<void> {
  let runs: Run[] = [];
  const unhandled: string[] = [];
  process.on('unhandledRejection', (cause) => unhandled.push(`unhandled rejection: ${cause}`));
  process.on('uncaughtException', (cause) => unhandled.push(`uncaught exception: ${cause}`));
  process.on('disconnect', () => process.exit());

  /** Fails for events whose status is negative, in the rudest way there is. */
  const start = () =>
    receiver({ logger: false, ...options }).on('*', ({ payload }, { rawBody, headers }) => {
      runs.push({ body: rawBody.toString('base64'), signature: headers['x-service-signature'] });
      if (payload.transaction.status < 0) throw null;
    });
  const receivers = [start(), start(), start()] as const;
  const [first, second, third] = receivers;
  const apps = [express4().use(first), express().use(second), third] as RequestListener[];
  const ports = await Promise.all(apps.map(listen));

  process.on('message', async (question) => {
    if (question === 'after gc') {
      runs = [];
      // Bytes outside the heap are freed some time after the objects that held them.
      for (let round = 0; round < 4; round += 1) {
        global.gc?.();
        await pause(20);
      }
    }
    const { heapUsed, external } = process.memoryUsage();
    const inFlight = receivers.reduce((sum, hooks) => sum + hooks.inFlight, 0);
    process.send?.({ runs, unhandled, heldBytes: heapUsed + external, inFlight } satisfies Report);
    runs = [];
  });
  process.send?.(ports);
}

function listen(app: RequestListener): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer(app);
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}
