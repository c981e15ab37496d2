// Writes down what a store confirmed, so that what it later does not know any more can be told from what it never knew.
import type { Claim, ClaimRequest, ClaimResult, IdempotencyStore } from 'payment-webhooks';
import type { Pool } from 'pg';

export const CONFIRMED = `CREATE TABLE IF NOT EXISTS confirmed (
  event_id text NOT NULL, step text NOT NULL, attempt integer NOT NULL)`;

export interface Confirmed {
  readonly event: string;
  readonly step: 'claim' | 'complete';
  readonly attempt: number;
}

export function witnessed(store: IdempotencyStore, pool: Pool): IdempotencyStore {
  const write = (key: string, step: Confirmed['step'], { attempt }: Claim) => {
    const id = key.slice(key.lastIndexOf(':') + 1);
    // A note that is lost makes the count of forgotten events smaller, and is no reason to end.
    pool.query('INSERT INTO confirmed VALUES ($1, $2, $3)', [id, step, attempt]).catch(() => {});
  };
  const watch = (key: string, claim: Claim): Claim => ({
    attempt: claim.attempt,
    finished: claim.finished,
    renew: (leaseMs) => claim.renew(leaseMs),
    complete: async () => {
      const done = await claim.complete();
      if (done) write(key, 'complete', claim);
      return done;
    },
    release: (finished) => claim.release(finished),
  });
  return {
    scope: 'shared',
    claim: async (key: string, request: ClaimRequest): Promise<ClaimResult> => {
      const result = await store.claim(key, request);
      if (result.status !== 'claimed') return result;
      write(key, 'claim', result.claim);
      return { status: 'claimed', claim: watch(key, result.claim) };
    },
  };
}

/** Each claim of an event has a number of its own, and none comes after the one that was completed. */
export function wasForgotten(steps: readonly Confirmed[]): boolean {
  const attemptsOf = (which: Confirmed['step']) =>
    steps.filter(({ step }) => step === which).map(({ attempt }) => attempt);
  const claims = attemptsOf('claim');
  const completed = Math.min(...attemptsOf('complete'));
  return new Set(claims).size < claims.length || claims.some((attempt) => attempt > completed);
}
