// Prunes an inbox about once an hour, from the first delivery until the last receiver closes.
import { AsyncResource } from 'node:async_hooks';
import { PRUNER, type Pruner } from '../../claims/pruner.js';
import type { DeadLetterStore } from '../../contracts/dead-letter-store.js';
import type { IdempotencyStore } from '../../contracts/idempotency-store.js';
import { boolean, type OptionRule, option } from '../../options/define-options.js';
import { LETTER_RULES, type LetterOptions } from '../letters/stored-letters.js';

/** What every inbox outside of this process takes. */
export interface InboxOptions extends LetterOptions {
  /** How long ids and letters are kept: `ms`-style string or milliseconds. @default '30d' */
  readonly retention?: number | string | undefined;
  /** With `false`, expired rows stay until you call `prune()` of the inbox's `store` and `deadLetters`. @default true */
  readonly prune?: boolean | undefined;
}

export const INBOX_RULES: typeof LETTER_RULES & { readonly prune: OptionRule<boolean> } = {
  ...LETTER_RULES,
  prune: option(true, boolean),
};

/** Tests shorten it. */
export const PRUNING = { everyMs: 3_600_000 };
/** The first time comes sooner: many processes do not live for an hour. */
const FIRST = 1 / 12;

/** An inbox with the types of its stores. */
export interface InboxOf<Store, Letters> {
  readonly store: Store;
  readonly deadLetters: Letters;
  ping(): Promise<void>;
}

interface Prunable {
  prune(): Promise<number>;
}

/** @param prune whether it prunes by itself */
export function prunedInbox<Store extends IdempotencyStore<object>, Letters extends DeadLetterStore>(
  store: Store,
  deadLetters: Letters,
  prunable: readonly Prunable[],
  prune: boolean,
): InboxOf<Store, Letters> {
  return {
    store,
    deadLetters,
    async ping(): Promise<void> {
      await store.ping?.();
      await deadLetters.read('ping');
    },
    ...(prune && { [PRUNER]: pruner(prunable) }),
  };
}

function pruner(prunable: readonly Prunable[]): Pruner {
  /** What each user does with a failure. */
  const users = new Set<(error: unknown) => void>();
  let timer: NodeJS.Timeout | undefined;
  // Bound here: it must not keep the async context of the delivery that starts it.
  const schedule = AsyncResource.bind((share: number) => {
    // At random, so that processes which start together do not prune together.
    const ours = setTimeout(
      async () => {
        // After the last receiver has closed nobody is told: the app may have ended its pool.
        for (const each of prunable) await each.prune().catch((error) => [...users][0]?.(error));
        // Otherwise all users have stopped meanwhile.
        if (timer === ours) schedule(1);
      },
      PRUNING.everyMs * share * (0.5 + Math.random()),
    );
    timer = ours;
    // It never keeps a process alive. In jsdom it is a number.
    timer.unref?.();
  });
  return (failed) => {
    const user = (error: unknown) => failed(error);
    let stopped = false;
    return {
      start() {
        if (stopped) return;
        users.add(user);
        if (timer === undefined) schedule(FIRST);
      },
      stop() {
        stopped = true;
        users.delete(user);
        if (users.size > 0) return;
        clearTimeout(timer);
        timer = undefined;
      },
    };
  };
}
