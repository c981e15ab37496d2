// Stores whose every call goes through the world of a test, which notes what the properties ask.
import type { Claim, DeadLetterStore, IdempotencyStore } from 'payment-webhooks';
import type { Properties } from './properties.js';

/** Decides what becomes of a call. */
export type Through = <Value>(name: string, effect: () => Value | Promise<Value>) => Value | Promise<Value>;

/** At once if it is no promise, as the memory store answers. */
export function mapped<Value, Result>(
  given: Value | Promise<Value>,
  map: (value: Value) => Result | Promise<Result>,
) {
  return given instanceof Promise ? given.then(map) : map(given);
}

/** @param onceOf what handlers get of a claim of this event */
export function watchedStore<Extra extends object>(
  store: IdempotencyStore<object>,
  properties: Properties,
  through: Through,
  onceOf: (claim: Claim<object>, event: string) => Pick<Claim<Extra>, 'forHandler'>,
): IdempotencyStore<Extra> {
  return {
    claim: (key, request) =>
      through('claim', () =>
        mapped(store.claim(key, request), (result) => {
          if (result.status !== 'claimed') return result;
          const event = key.split(':').at(-1) ?? '';
          const lease = `${event} ${result.claim.attempt}`;
          properties.lease(lease, request.leaseMs);
          const claim = watchedClaim(result.claim, properties, through, { event, lease });
          return { status: result.status, claim: { ...claim, ...onceOf(result.claim, event) } };
        }),
      ),
    completedWith: (key) => through('completedWith', () => store.completedWith?.(key)),
  };
}

function watchedClaim(
  claim: Claim<object>,
  properties: Properties,
  through: Through,
  { event, lease }: { readonly event: string; readonly lease: string },
): Omit<Claim, 'forHandler'> {
  return {
    attempt: claim.attempt,
    finished: claim.finished,
    renew: (ms) =>
      through('renew', () =>
        mapped(claim.renew(ms), (renewed) => {
          if (renewed) properties.lease(lease, ms);
          return renewed;
        }),
      ),
    complete: () =>
      through('complete', () =>
        mapped(claim.complete(), (completed) => {
          if (completed === true) properties.complete(event, lease);
          return completed;
        }),
      ),
    release: (finished) => through('release', () => claim.release(finished)),
  };
}

export function watchedLetters(
  letters: DeadLetterStore,
  properties: Properties,
  through: Through,
): DeadLetterStore {
  return {
    keep: (letter) =>
      through('keep', () =>
        mapped(letters.keep(letter), (id) => {
          properties.owed.add(letter.eventId);
          return id;
        }),
      ),
    update: (id, change) => through('update', () => letters.update(id, change)),
    list: (query, page) => through('list', () => letters.list(query, page)),
    count: (query) => through('count', () => letters.count?.(query) ?? 0),
    read: (id) => through('read', () => letters.read(id)),
    discard: (id, why) => through('discard', () => letters.discard(id, why)),
    remove: (event) => through('remove', () => letters.remove(event)),
  };
}

/** Whether a letter of the event is left. */
export async function hasLetter(letters: DeadLetterStore, eventId: string): Promise<boolean> {
  const query = { namespace: 'default', discarded: false, eventId };
  return (await letters.list(query, { limit: 1 })).letters.length > 0;
}
