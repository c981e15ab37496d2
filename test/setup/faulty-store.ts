// A real memory store with faults in the wire to it: each operation can be lost, late, refused or answered with rubbish.
import {
  type Claim,
  type ClaimResult,
  type IdempotencyStore,
  type Lock,
  memoryStore,
} from 'payment-webhooks';

/** What becomes of one call. `real` carries it out; a fault may call it or not, and answer what it likes. */
export type Fault = (real: () => Promise<unknown>) => unknown;
export type Operation = 'claim' | 'lock' | 'renew' | 'complete' | 'release';

export interface FaultyStore extends IdempotencyStore {
  /** The faults in force; a test sets and removes them as it goes on. */
  readonly faults: { [Name in Operation]?: Fault | undefined };
  /** Every call, also those that a fault kept from the real store. */
  readonly calls: Operation[];
}

/** Claims whose handlers write inside `once`, as if each wrote. */
export const WRITES_ONCE: Partial<Claim> = {
  forHandler: () => ({ context: {}, end: () => ({ wrote: true }) }),
};

/** @param more what the store's claims carry beside the memory store's own, such as {@link WRITES_ONCE} */
export function faultyStore(
  faults: FaultyStore['faults'] = {},
  { store = memoryStore(), more = {} }: { store?: IdempotencyStore; more?: Partial<Claim> } = {},
): FaultyStore {
  const calls: Operation[] = [];
  const current = { ...faults };
  const go = <Answer>(name: Operation, real: () => Answer | Promise<Answer>): Promise<Answer> => {
    calls.push(name);
    const promised = async () => real();
    return (current[name]?.(promised) ?? promised()) as Promise<Answer>;
  };
  const wired = (claim: Claim): Claim => ({
    ...claim,
    ...more,
    renew: (leaseMs) => go('renew', () => claim.renew(leaseMs)),
    complete: () => go('complete', () => claim.complete()),
    release: (finished) => go('release', () => claim.release(finished)),
  });
  const wiredLock = (held: Lock): Lock => ({
    renew: (leaseMs) => go('renew', () => held.renew(leaseMs)),
    release: () => go('release', () => held.release()),
  });
  const claim = async (...request: Parameters<IdempotencyStore['claim']>): Promise<ClaimResult> => {
    const result = await store.claim(...request);
    return result.status === 'claimed' ? { ...result, claim: wired(result.claim) } : result;
  };
  const lock = async (...request: Parameters<NonNullable<IdempotencyStore['lock']>>) => {
    const result = await store.lock?.(...request);
    return result && wiredLock(result);
  };
  return {
    faults: current,
    calls,
    claim: (...request) => go('claim', () => claim(...request)),
    lock: (...request) => go('lock', () => lock(...request)),
  };
}

export const rejects: Fault = () => Promise.reject(new Error('connection refused'));
export const throws: Fault = () => {
  throw new Error('not connected');
};
/** A black hole: the call never arrives. */
export const hangs: Fault = () => new Promise(() => {});
/** Carried out, but its reply never comes back. */
export const repliesNever: Fault = (real) => real().then(() => new Promise(() => {}));
/** Carried out at once; its reply comes back after so many milliseconds. */
export const repliesAfter =
  (ms: number): Fault =>
  (real) =>
    real().then((answer) => new Promise((resolve) => setTimeout(resolve, ms, answer)));
/** Not carried out, and answered with whatever this is; an object, so that `undefined` is an answer too. */
export const answers =
  (answer: { readonly value: unknown }): Fault =>
  () =>
    Promise.resolve(answer.value);
/** The fault for the first so many calls; from then on all is well. */
export function times(count: number, fault: Fault): Fault {
  let left = count;
  return (real) => {
    left -= 1;
    return left >= 0 ? fault(real) : real();
  };
}
