import { describe, expect, jest, test } from '@jest/globals';
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
