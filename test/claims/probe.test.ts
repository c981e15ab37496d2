import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Probe } from '../../src/claims/probe.js';
import { gate, until } from '../setup/waiting.js';

const LONG = 60_000;

describe('a probe', () => {
  test('asks once for all who want to know at once, and for all after them until the answer is old', async () => {
    const opened = gate<string>();
    const ask = jest.fn(() => opened.opened);
    const probe = new Probe(ask, { timeout: LONG, cache: LONG });
    const reads = Array.from({ length: 100 }, () => probe.read());
    opened.open('here');
    expect(new Set(await Promise.all(reads))).toEqual(new Set(['here']));
    expect(await probe.read()).toBe('here');
    expect(ask).toHaveBeenCalledTimes(1);
  });

  test('asks again when the answer is old', async () => {
    let asked = 0;
    const probe = new Probe(async () => ++asked, { timeout: LONG, cache: 1 });
    expect(await probe.read()).toBe(1);
    await until(async () => (await probe.read()) === 3);
  });

  test.each<[string, () => Promise<string>]>([
    ['rejects', () => Promise.reject(new Error('down'))],
    [
      'throws',
      () => {
        throw new Error('down');
      },
    ],
  ])('has no answer of one that %s, and asks again', async (_, fail) => {
    let failures = 1;
    const ask = () => (failures-- > 0 ? fail() : Promise.resolve('here'));
    const probe = new Probe(ask, { timeout: LONG, cache: 1 });
    expect(await probe.read()).toBeUndefined();
    await until(async () => (await probe.read()) === 'here');
  });

  test('waits only so long for one that hangs, does not ask it again meanwhile, and takes its late answer', async () => {
    const opened = gate<string>();
    const ask = jest.fn(() => opened.opened);
    const probe = new Probe(ask, { timeout: 20, cache: 1 });
    for (let reads = 0; reads < 5; reads += 1) expect(await probe.read()).toBeUndefined();
    expect(ask).toHaveBeenCalledTimes(1);
    opened.open('late');
    await until(async () => (await probe.read()) === 'late');
  });

  test('has everybody wait once while one hangs, not each of them', async () => {
    const probe = new Probe(() => new Promise<string>(() => {}), { timeout: 200, cache: LONG });
    expect(await probe.read()).toBeUndefined();
    const startedAt = performance.now();
    for (let reads = 0; reads < 1_000; reads += 1) expect(await probe.read()).toBeUndefined();
    // A thousand of them would wait for 200 seconds.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });
});

describe('a probe, with fake timers', () => {
  beforeEach(() => {
    jest.useFakeTimers();
    // Differences count, and not what the clock shows.
    jest.advanceTimersByTime(1_000_000);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  test('asks again as soon as the answer is as old as the cache allows, and leaves no timer behind', async () => {
    const ask = jest.fn(async () => 'here');
    const probe = new Probe(ask, { timeout: LONG, cache: 10 });
    await probe.read();
    expect(jest.getTimerCount()).toBe(0);
    jest.advanceTimersByTime(9);
    await probe.read();
    expect(ask).toHaveBeenCalledTimes(1);
    jest.advanceTimersByTime(1);
    await probe.read();
    expect(ask).toHaveBeenCalledTimes(2);
  });

  test.each([
    [1_000, 30_000],
    [40_000, 40_000],
  ])(
    'with a timeout of %i ms asks again after %i ms, and an answer to the first call is too late',
    async (timeout, patience) => {
      const answers = [gate<string>(), gate<string>()];
      const ask = jest.fn(() => answers[ask.mock.calls.length - 1]?.opened as Promise<string>);
      const probe = new Probe(ask, { timeout, cache: 0 });
      const first = probe.read();
      await jest.advanceTimersByTimeAsync(patience - 1);
      const second = probe.read();
      expect(ask).toHaveBeenCalledTimes(1);
      await jest.advanceTimersByTimeAsync(1);
      const third = probe.read();
      expect(ask).toHaveBeenCalledTimes(2);
      answers[0]?.open('late');
      await jest.advanceTimersByTimeAsync(0);
      const fourth = probe.read();
      expect(ask).toHaveBeenCalledTimes(2);
      answers[1]?.open('here');
      await jest.advanceTimersByTimeAsync(0);
      expect(await first).toBeUndefined();
      expect(await second).toBe('late');
      expect(await Promise.all([third, fourth])).toEqual(['here', 'here']);
    },
  );
});
