// An app in two deployments: the first leaves dead letters of every reason, the second serves their page.
import { createServer, type Server } from 'node:http';
import express, { type Request, type RequestHandler } from 'express';
import { memoryDeadLetters, memoryStore, type NewDeadLetter, receiver } from 'payment-webhooks';
import { deadLetterPage } from 'payment-webhooks/ops';
import { fixtures, signedDelivery } from 'payment-webhooks/testing';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { captureLog } from '../setup/captured-log.js';
import { aLetter } from '../setup/letters.js';
import { listening } from '../tools/simulator/world.js';
import { button, openPage } from './chromium.js';

export const PRIVATE_KEY = 'pri_example';

/** Any event: a payload is an object, and a refund has an amount. */
const EVENTS = { 'refund.succeeded': z.looseObject({ refund: z.looseObject({ amount: z.string() }) }) };

export type LetterApp = Awaited<ReturnType<typeof letterApp>>;

/** @param path where the page is mounted */
export async function letterApp(path = '/ops/webhooks') {
  const now = () => Date.now() - app.minutesAgo * 60_000;
  const deadLetters = memoryDeadLetters({ now, max: 2_000 });
  const shared = { privateKey: PRIVATE_KEY, store: memoryStore(), deadLetters, logger: false } as const;
  const first = receiver(shared);
  first.on('*', () => Promise.reject(new Error('the database is down')));
  const second = receiver({ ...shared, events: EVENTS });
  const app = {
    /** The URL of the page, with a trailing slash. */
    dashboardUrl: '',
    deadLetters,
    /** The age of the next letters in minutes. */
    minutesAgo: 0,
    /** The ids of the events that a handler of the second deployment processed. */
    handled: [] as string[],
    /** What the handlers of the second deployment do. */
    work: (_eventId: string): unknown => undefined,
    /** The signed-in user, if any. */
    user: 'ada' as string | undefined,
    /** How many requests are open: not answered, and their client is connected. */
    open: 0,
    /** What the page logged. */
    log: captureLog(),
    /** Closes every connection. */
    disconnect: (): void => server.closeAllConnections(),
    /** Sends an event to the first deployment, which keeps it as a dead letter: its handlers fail. */
    keep: async (event: object) =>
      void (await first.receive(signedDelivery(event, { privateKey: PRIVATE_KEY }))),
  };
  second.on('*', async ({ id }) => {
    await app.work(id);
    app.handled.push(id);
  });
  const page = deadLetterPage(second, {
    authorize: (_request: Request) => app.user,
    logger: app.log.logger,
  });
  const count: RequestHandler = (_request, response, next) => {
    app.open += 1;
    response.on('close', () => {
      app.open -= 1;
    });
    next();
  };
  const server: Server = createServer(express().use(count).use(path, page));
  app.dashboardUrl = `http://127.0.0.1:${await listening(server)}${path}/`;
  return app;
}

/** Opens the page of an app that keeps these events. */
export async function openLetters(events: readonly object[], query = '') {
  const app = await letterApp();
  for (const event of events) await app.keep(event);
  return { app, ...(await openPage(app, query)) };
}

export const refund = (id: string, amount: unknown = '12.00') => ({
  ...fixtures.event('refund.succeeded', { refund: { id: `re_${id}`, amount } }),
  id,
});

export const paid = (id: string, orderId: string) =>
  fixtures.transactionPaid({ id, payload: { transaction: { order_id: orderId } } });

function payout(eventId: string, given: Partial<NewDeadLetter> = {}): NewDeadLetter {
  const event = {
    ...fixtures.event('payout.failed', { payout: { id: `po_${eventId}`, amount: 12 } }),
    id: eventId,
  };
  const rawBody = Buffer.from(JSON.stringify(event));
  return aLetter({ eventName: 'payout.failed', eventId, rawBody, ...given });
}

/** Longer than any event name of the service. */
export const LONG_NAME = 'subscription.payment_method_update_was_refused_by_the_bank';

/** An app with letters of every reason, and a tombstone. */
export async function letterScene(): Promise<LetterApp> {
  const app = await letterApp();
  const { deadLetters } = app;
  app.minutesAgo = 2_900;
  for (const id of ['evt_7001', 'evt_7002', 'evt_7003']) await app.keep(paid(id, `order-${id}`));
  app.minutesAgo = 190;
  for (const id of ['evt_8001', 'evt_8002']) await app.keep(refund(id));
  await app.keep(refund('evt_8003', 12));
  await app.keep({ ...refund('evt_9001'), event_name: LONG_NAME, sandbox: true });
  app.minutesAgo = 12;
  const invalid = {
    ...({ reason: 'invalid', code: 'EVENT_INVALID', attempts: 3 } as const),
    issues: [
      { path: 'payload.payout.amount', message: 'Expected text, received a number' },
      { path: 'payload.payout.bank_account.holder_name', message: 'Required' },
    ],
  } as const;
  await deadLetters.keep(payout('evt_9002', invalid));
  await deadLetters.keep(
    payout('evt_9003_0123456789abcdef0123456789abcdef0123456789abcdef', { reason: 'conflict' }),
  );
  await deadLetters.keep(payout('evt_9004', { reason: 'unfinished', code: undefined }));
  const dead = await deadLetters.keep(payout('evt_6001'));
  await deadLetters.discard(dead, {
    by: 'grace',
    because: 'test data of the migration, agreed with the shop',
  });
  return app;
}

/** Presses the key that replays all, which works once the letters are loaded. */
export async function pressReplayAll(page: Page): Promise<void> {
  await button(page, /^Replay (?:all )?\d/).waitFor();
  await page.keyboard.press('a');
}
