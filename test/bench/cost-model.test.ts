// The formulas of the cost model, on numbers that can be checked in the head.
import { describe, expect, test } from '@jest/globals';
import { mostPerSecond, need, whole } from './cost-model.js';

const costs = { receiver: 100e-6, server: 20e-6, bytes: 300 };
const demand = { rate: 10_000, repeated: 0, handlers: 0, held: 0.2, busy: 0.5, retention: 2 * 86_400 };

describe('a rate of deliveries', () => {
  test('needs CPUs for receivers and store, and room for what is at work and what is remembered', () => {
    const { processes, serverCpus, atOnce, ids, bytes } = need(costs, demand);
    expect(processes).toBeCloseTo(2);
    expect(serverCpus).toBeCloseTo(0.4);
    expect(atOnce).toBe(2_000);
    expect(ids).toBe(1_728_000_000);
    expect(bytes).toBe(518_400_000_000);
  });

  test('needs receivers also for what handlers compute, but not for duplicates, which are not remembered twice', () => {
    const { processes, ids } = need(costs, { ...demand, handlers: 200e-6, repeated: 0.25 });
    expect(processes).toBeCloseTo(5);
    expect(ids).toBe(1_296_000_000);
  });

  test('needs one of everything at the least, and no half ones', () => {
    expect([0.004, 1, 1.001, 53.2].map(whole)).toEqual([1, 1, 2, 54]);
  });
});

describe('the most that can be delivered', () => {
  const most = (processes: number, cpus: number, sender = 0) =>
    Math.round(mostPerSecond(costs, { processes, cpus, sender }));

  test('is what the processes can compute while there are CPUs for them', () => {
    expect([most(1, 8), most(2, 8)]).toEqual([10_000, 20_000]);
  });

  test('is what all CPUs can compute when there are more processes than that', () => {
    expect(most(4, 2, 80e-6)).toBe(10_000);
    expect(most(8, 2, 80e-6)).toBe(10_000);
  });

  test('is what one CPU can do for the store', () => {
    expect(most(64, 64)).toBe(50_000);
  });
});
