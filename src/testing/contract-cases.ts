// Makes the cases of a contract suite: each creates a store, tests it, and closes it.
import { setTimeout as pause } from 'node:timers/promises';
import type { Claim } from '../contracts/idempotency-store.js';
import { ConfigurationError } from '../errors.js';
import { show } from '../misuse.js';

export interface ContractCase {
  /** What the store promises, as a sentence. */
  readonly name: string;
  /** Rejects with an error that names the broken promise, and what the store did instead. */
  readonly run: () => Promise<void>;
}

/** @param store its name in the errors */
export function assertionsOf(store: string) {
  const violation = (promise: string, got: unknown, instead = '') =>
    new Error(`${store} breaks its contract: ${promise}. Got ${json(got)}${instead}.`);
  return {
    violation,

    /** @param got what the store did instead */
    assert(kept: boolean, promise: string, got: unknown): void {
      if (!kept) throw violation(promise, got);
    },

    assertSame(got: unknown, expected: unknown, promise: string): void {
      if (json(got) !== json(expected)) throw violation(promise, got, ` instead of ${json(expected)}`);
    },
  };
}

/** Only the documented fields of a claim: a store may add others, also circular ones. */
function json(value: unknown): string | undefined {
  return JSON.stringify(value, (_name, field) => {
    const { attempt, finished, complete } = (field ?? {}) as Partial<Claim<object>>;
    return typeof complete === 'function' ? { attempt, finished } : field;
  });
}

type Sleep = (ms: number) => Promise<void>;

interface Suite<Context> {
  readonly cases: Readonly<Record<string, (context: Context) => Promise<void>>>;
  /** Milliseconds; undefined: the store's default. */
  readonly retention: number | undefined;
  /**
   * For cases with tight timing: the milliseconds that one may take on top of its sleeps. If a case fails and took longer,
   * the machine was too slow, and the case runs again.
   */
  readonly slackMs?: number;
}

const MAX_RUNS = 10;

/** @throws {ConfigurationError} unless `create` is a function */
export function contractCases<Store extends { close?(): unknown }, Context>(
  suites: readonly Suite<Context>[],
  create: (options: { readonly retention: number | undefined }) => Store | Promise<Store>,
  contextFor: (store: Store, sleep: Sleep) => Context,
  sleep: Sleep = (ms) => pause(ms),
): ContractCase[] {
  if (typeof create !== 'function') {
    throw new ConfigurationError(
      `create is ${show(create)}. Pass { create: ({ retention }) => myStore({ retention }) }.`,
    );
  }
  return suites.flatMap(({ cases, retention, slackMs = Number.POSITIVE_INFINITY }) =>
    Object.entries(cases).map(([name, check]) => ({
      name,
      run: async () => {
        for (let runs = 1; ; runs++) {
          const store = await create({ retention });
          let sleptMs = 0;
          const counted: Sleep = (ms) => {
            sleptMs += ms;
            return sleep(ms);
          };
          const began = performance.now();
          try {
            await check(contextFor(store, counted));
            return;
          } catch (error) {
            if (performance.now() - began - sleptMs < slackMs || runs === MAX_RUNS) throw error;
          } finally {
            await store.close?.();
          }
        }
      },
    })),
  );
}
