// Tests that wait for a lease or a retention to end wait at the same time, and still pass or fail one by one.
import { beforeAll } from '@jest/globals';
import { needing } from './platform.js';

export interface Case {
  readonly name: string;
  /** The programs without which it is skipped. */
  readonly needs?: readonly string[];
  readonly run: () => Promise<void>;
}

/** A test for each case. They must have nothing in common; those that `waits` does not choose run alone. */
export function testAtOnce<Given extends Case>(
  cases: readonly Given[],
  waits: (each: Given) => boolean = () => true,
): void {
  const running = new Map<Given, Promise<void>>();
  const ableTo = ({ needs = [] }: Given) => needing(...needs);
  beforeAll(async () => {
    for (const each of cases)
      if (waits(each) && ableTo(each).missing.length === 0) running.set(each, each.run());
    await Promise.allSettled(running.values());
  }, 60_000);
  for (const each of cases) ableTo(each).test(each.name, () => running.get(each) ?? each.run());
}
