// A real memory store of dead letters with faults in the wire to it, and short ways to ask a receiver for its letters.
import {
  type DeadLetter,
  type DeadLetterFilter,
  type DeadLetterStore,
  type DeadLetters,
  memoryDeadLetters,
} from 'payment-webhooks';
import type { Fault } from './faulty-store.js';

export type LetterOperation = 'keep' | 'update' | 'list' | 'count' | 'read' | 'remove' | 'discard';
const OPERATIONS = ['keep', 'update', 'list', 'count', 'read', 'remove', 'discard'] as const;

export interface FaultyDeadLetters extends DeadLetterStore {
  /** The faults in force; a test sets and removes them as it goes on. */
  readonly faults: { [Name in LetterOperation]?: Fault | undefined };
  /** Every call, also those that a fault kept from the real store. */
  readonly calls: LetterOperation[];
}

/** @param store where the calls go that no fault keeps from it */
export function faultyDeadLetters(
  faults: FaultyDeadLetters['faults'] = {},
  store: DeadLetterStore = memoryDeadLetters(),
): FaultyDeadLetters {
  const calls: LetterOperation[] = [];
  const current = { ...faults };
  const wired = Object.fromEntries(
    OPERATIONS.filter((name) => store[name]).map((name) => [
      name,
      (...given: unknown[]) => {
        calls.push(name);
        const real = async () => (store[name] as (...args: unknown[]) => unknown)(...given);
        return current[name]?.(real) ?? real();
      },
    ]),
  ) as unknown as DeadLetterStore;
  return { ...wired, faults: current, calls };
}

/** The letters that fit, as a list. */
export async function lettersOf(
  { deadLetters }: { readonly deadLetters: DeadLetters | undefined },
  filter?: DeadLetterFilter,
): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = [];
  for await (const letter of deadLetters?.list(filter) ?? []) letters.push(letter);
  return letters;
}
