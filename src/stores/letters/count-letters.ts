// Matches dead letters with a query, and counts them by reason and event name, in JavaScript.
import {
  type DeadLetter,
  type DeadLetterGroup,
  type DeadLetterQuery,
  type DeadLetterReason,
  FURTHER_NAMES,
} from '../../contracts/dead-letter-store.js';

interface QueriedLetter extends Pick<DeadLetter, 'id' | 'namespace' | 'reason' | 'eventId' | 'eventName'> {
  /** Milliseconds since 1970. */
  readonly keptAt: number;
}

/** Whether a letter or tombstone matches everything in the query except `discarded`. */
export function matchesQuery(letter: QueriedLetter, query: DeadLetterQuery): boolean {
  const { id, reason, eventId, eventName, eventNamePrefix = '', since } = query;
  return (
    letter.namespace === query.namespace &&
    (id === undefined || letter.id === id) &&
    (reason === undefined || letter.reason === reason) &&
    (eventId === undefined || letter.eventId === eventId) &&
    (eventName === undefined || letter.eventName === eventName) &&
    letter.eventName.startsWith(eventNamePrefix) &&
    (since === undefined || letter.keptAt >= since.getTime())
  );
}

/** How many letters there are, and how old the oldest is. */
export interface DeadLetterCount {
  readonly total: number;
  /** When the oldest one was first kept, by the store's clock; undefined without letters. */
  readonly oldest: Date | undefined;
  /**
   * The largest first. For each reason up to 1,000 names: the letters of further names are in one group with the name `…`,
   * because the names of undeclared events come from outside.
   */
  readonly groups: readonly DeadLetterGroup[];
}

interface Counted {
  readonly count: number;
  /** Milliseconds since 1970. */
  readonly oldest: number;
}

/** Counts letters in bounded memory: the names of undeclared events come from outside. */
export class LetterGroups {
  readonly #names: number;
  readonly #reasons = new Map<DeadLetterReason, Map<string, Counted>>();

  /** @param names how many for each reason; the letters of all others are counted together */
  constructor(names: number) {
    this.#names = names;
  }

  /** Letters in the order of their arrival. */
  add(
    letters: Iterable<Pick<DeadLetter, 'reason' | 'eventName'> & { readonly keptAt: number | Date }>,
  ): this {
    for (const { reason, eventName, keptAt: when } of letters) {
      const keptAt = Number(when);
      const groups = this.#reasons.get(reason) ?? new Map<string, Counted>();
      this.#reasons.set(reason, groups);
      const name = groups.has(eventName) || groups.size < this.#names ? eventName : FURTHER_NAMES;
      const { count, oldest } = groups.get(name) ?? { count: 0, oldest: keptAt };
      groups.set(name, { count: count + 1, oldest: Math.min(oldest, keptAt) });
    }
    return this;
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
  const oldest = groups.reduce((first, group) => Math.min(first, group.oldest.getTime()), Infinity);
  return {
    total: groups.reduce((sum, { count }) => sum + count, 0),
    oldest: groups.length > 0 ? new Date(oldest) : undefined,
    groups: [...groups].sort((one, other) => other.count - one.count),
  };
}
