// Whom a delivery waits for: which handlers wait for others, which are named when time is up, and what ends with them.
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import type { HandlerContext, ReceiverOptions } from 'payment-webhooks';
import { startEndpoint } from '../setup/endpoint.js';
import { gate, until } from '../setup/waiting.js';

describe('handlers without a serial value', () => {
  test('wait for none, also beside handlers that take turns', async () => {
    const held = gate();
    const begun: string[] = [];
    const endpoint = await startEndpoint({ handlers: {} });
    const hold = (name: string) => () => {
      begun.push(name);
      return held.opened;
    };
    endpoint.hooks
      .on('*', hold('book'), { serial: () => 'order-1042' })
      .on('*', hold('mail'))
      .on('*', hold('ship'), { serial: () => 'order-1042' })
      .on('*', hold('count'));
    const reply = endpoint.post();
    await until(() => begun.includes('book'));
    expect(begun).toEqual(['book', 'mail', 'count']);
    held.open();
    expect(await reply).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    expect(begun).toEqual(['book', 'mail', 'count', 'ship']);
  });
});

describe('the hint of a delivery whose handlers took too long', () => {
  test('names each of those that still run, and no other', async () => {
    const held = gate();
    const endpoint = await startEndpoint({ timeout: 50, handlers: {} });
    endpoint.hooks
      .on('*', () => held.opened, { name: 'mail' })
      .on('*', async () => {}, { name: 'book' })
      .on('*', () => held.opened, { name: 'ship' });
    expect(await endpoint.post()).toMatchObject({ status: 503, body: { code: 'HANDLER_TIMEOUT' } });
    const { hint } = endpoint.log.lines.find(({ code }) => code === 'HANDLER_TIMEOUT') ?? {};
    expect(hint).toContain('Not finished after 50 ms: mail, ship.');
    held.open();
    await until(() => endpoint.hooks.inFlight === 0);
  });
});

describe('handlers that settle in time', () => {
  // The signal may have gone to work that they left behind on purpose.
  test.each<[string, ReceiverOptions, () => unknown]>([
    ['at once', {}, () => {}],
    ['at once, by a promise', {}, async () => {}],
    ['at once, by a promise, without a store', { store: false }, async () => {}],
    ['a little later', {}, () => pause(5)],
  ])('have heard the last of the timeout: %s', async (_, options, work) => {
    const signals: AbortSignal[] = [];
    const handler = (_event: unknown, { signal }: HandlerContext) => {
      signals.push(signal);
      return work();
    };
    const endpoint = await startEndpoint({ ...options, timeout: 100, handlers: { '*': handler } });
    expect(await endpoint.post()).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    await pause(150);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    expect(endpoint.log.lines).toHaveLength(1);
  });
});
