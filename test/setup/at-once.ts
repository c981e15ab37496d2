// Tests that wait for a lease or a retention to end wait at the same time, and still pass or fail one by one.
import { beforeAll, test } from '@jest/globals';

export interface Case {
  readonly name: string;
  readonly run: () => Promise<void>;
}

/** A test for each case. They must have nothing in common; those that `waits` does not choose run alone. */
export function testAtOnce<Given extends Case>(
  cases: readonly Given[],
  waits: (each: Given) => boolean = () => true,
): void {
  const running = new Map<Given, Promise<void>>();
  beforeAll(async () => {
    for (const each of cases) if (waits(each)) running.set(each, each.run());
    await Promise.allSettled(running.values());
  }, 60_000);
  test.each(cases.map((each) => [each.name, each] as const))(
    '%s',
    (_, each) => running.get(each) ?? each.run(),
  );
}
