// Counts dead letters by reason and name of event, in bounded memory: names of events nobody declared come from outside.
import { type DeadLetterGroup, type DeadLetterReason, FURTHER_NAMES } from '../claims/dead-letter-store.js';

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
