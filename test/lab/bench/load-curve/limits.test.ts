// The search for the largest rate, and that arrivals do not wait for a receiver that stands still.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { seeded } from '../statistics.js';
import { deliverAt } from './arrivals.js';
import { largestRate, NOT_ANSWERED } from './limits.js';

describe('the largest rate', () => {
  test.each([[300], [1_234], [20_000]])('%i is found to 3 %%', async (most) => {
    const { rate } = await largestRate(async (rate) => ({ rate, p99: rate <= most ? 5 : NOT_ANSWERED }));
    expect(rate).toBeLessThanOrEqual(most);
    expect(rate).toBeGreaterThan(most * 0.97);
  });

  test('survives two bad windows at each rate', async () => {
    const seen = new Map<number, number>();
    const { rate } = await largestRate(async (rate) => {
      const before = seen.get(rate) ?? 0;
      seen.set(rate, before + 1);
      return { rate, p99: rate > 2_000 || before < 2 ? 101 : 5 };
    });
    expect(rate).toBeGreaterThan(1_940);
  });

  test('is 0 where the first is too much', async () => {
    expect((await largestRate(async (rate) => ({ rate, p99: 101 }))).rate).toBe(0);
  });
});

describe('arrivals', () => {
  async function sentTo(listener: RequestListener, rate: number, seconds: number) {
    const server = createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const arrivals = await deliverAt({ port, rate, seconds, random: seeded(1) });
    server.close();
    return arrivals;
  }

  test('count the wait of those that were due while the receiver stood still', async () => {
    let paused = false;
    const standStill: RequestListener = (_req, res) => {
      const now = performance.now();
      if (!paused) while (performance.now() < now + 300);
      paused = true;
      res.end('{}');
    };
    const { histogram, due, failed } = await sentTo(standStill, 200, 1);
    expect(failed).toBe(0);
    expect(histogram.count).toBe(due);
    // It stood still once, for less than a third of the time: a sender that waits for answers would count one slow delivery.
    expect(histogram.percentile(90)).toBeGreaterThan(50_000);
  });

  test('count what is refused as failed', async () => {
    const { due, failed } = await sentTo((_req, res) => res.writeHead(503).end('{}'), 100, 0.2);
    expect(failed).toBe(due);
  });
});
