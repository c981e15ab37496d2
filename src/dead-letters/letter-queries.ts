// Counts dead letters by reason and name of event, in bounded memory: names of events nobody declared come from outside.
import { type DeadLetterGroup, type DeadLetterReason, FURTHER_NAMES } from '../claims/dead-letter-store.js';

/** How many letters there are, and since when. */
export interface DeadLetterCount {
  readonly total: number;
  /** When the oldest of them was first kept, by the clock of the store; undefined when there is no letter. */
  readonly oldest: Date | undefined;
  /**
   * Those with the most letters first. For each reason up to 1,000 names; the letters of further ones are together in a
   * group with the name `…`, because the names of undeclared events come from outside.
   */
  readonly groups: readonly DeadLetterGroup[];
}

interface CountedLetter {
  readonly reason: DeadLetterReason;
  readonly eventName: string;
  /** Milliseconds since 1970, or a date. */
  readonly keptAt: number | Date;
}

interface Counted {
  count: number;
  oldest: number;
}

export class LetterGroups {
  readonly #names: number;
  readonly #reasons = new Map<DeadLetterReason, Map<string, Counted>>();

  /** @param names for each reason at most so many; further ones are counted together */
  constructor(names: number) {
    this.#names = names;
  }

  /** Letters in the order of their arrival. */
  add(letters: Iterable<CountedLetter>): this {
    for (const letter of letters) this.#add(letter);
    return this;
  }

  #add({ reason, eventName, keptAt: when }: CountedLetter): void {
    const keptAt = Number(when);
    const groups = this.#reasons.get(reason) ?? new Map<string, Counted>();
    this.#reasons.set(reason, groups);
    const name = groups.has(eventName) || groups.size < this.#names ? eventName : FURTHER_NAMES;
    const group = groups.get(name) ?? { count: 0, oldest: keptAt };
    groups.set(name, group);
    group.count += 1;
    group.oldest = Math.min(group.oldest, keptAt);
  }

  list(): DeadLetterGroup[] {
    return [...this.#reasons].flatMap(([reason, groups]) =>
      [...groups].map(([eventName, { count, oldest }]) => ({
        reason,
        eventName,
        count,
        oldest: new Date(oldest),
      })),
    );
  }
}

export function sumOf(groups: readonly DeadLetterGroup[]): DeadLetterCount {
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  const oldest = groups.reduce(
    (first, group) => Math.min(first, group.oldest.getTime()),
    Number.POSITIVE_INFINITY,
  );
  return {
    total,
    oldest: total > 0 ? new Date(oldest) : undefined,
    groups: [...groups].sort((one, other) => other.count - one.count),
  };
}
