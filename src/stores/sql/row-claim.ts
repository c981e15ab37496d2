// A claim in lease mode: every step is a statement that commits by itself.
import type { Claim, ClaimRequest } from '../../claims/idempotency-store.js';
import type { ForgettableResult } from '../../claims/lock-of-claim.js';
import type { RunStatement } from './database.js';
import { claimParameters, type EventRows, type Granted, type Owner } from './event-rows.js';

/** What a store in lease mode needs to know. */
export interface RowStore {
  readonly rows: EventRows;
  readonly run: RunStatement;
  readonly retentionMs: number;
}

export async function claimRow(
  store: RowStore,
  key: string,
  request: ClaimRequest,
): Promise<ForgettableResult<RowClaim>> {
  const parameters = claimParameters(key, request, store.retentionMs);
  const answer = await store.rows.claim(store.run, parameters);
  if (answer.status !== 'claimed') return answer;
  return { status: 'claimed', claim: new RowClaim(store, parameters, answer) };
}

class RowClaim implements Claim {
  readonly attempt: number;
  readonly finished: readonly string[];
  readonly #store: RowStore;
  readonly #owner: Owner;

  constructor(store: RowStore, owner: Owner, { attempt, finished }: Granted) {
    this.#store = store;
    this.#owner = owner;
    this.attempt = attempt;
    this.finished = finished;
  }

  renew(leaseMs: number): Promise<boolean> {
    const { rows, run, retentionMs } = this.#store;
    return rows.renew(run, this.#owner, leaseMs, Math.max(leaseMs, retentionMs));
  }

  complete(): Promise<boolean> {
    const { rows, run, retentionMs } = this.#store;
    return rows.complete(run, this.#owner, retentionMs);
  }

  release(finished: readonly string[]): Promise<boolean> {
    const { rows, run, retentionMs } = this.#store;
    return rows.release(run, this.#owner, retentionMs, finished);
  }

  forget(): Promise<boolean> {
    const { rows, run } = this.#store;
    return rows.forget(run, this.#owner);
  }
}
