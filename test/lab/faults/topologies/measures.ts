// What a fault cost: how long it was felt, what was refused after it, and what was accepted and is undone.
import { groupByEvent } from '../check-history.js';
import type { LedgerRow } from '../merchant.js';
import type { InjectedFault } from '../nemesis.js';
import type { Attempt } from '../post.js';
import type { Sent } from '../sender.js';

export interface Outage {
  /** Answers 503 that say that the store did not answer, or no longer knew the claim. */
  readonly refused: number;
  /** Seconds from a fault until an event that was refused after it got its 2xx: the longest of all faults. */
  readonly untilAccepted: number;
  /** Seconds from a fault until the last refusal: the longest of all faults. */
  readonly untilLastRefusal: number;
}

export function measureOutage(sent: readonly Sent[], faults: readonly InjectedFault[]): Outage {
  const refusedOnes = sent.filter(({ attempts }) => attempts.some(isRefusal));
  const outages = faults.map(({ from }, index) => {
    const until = faults[index + 1]?.from ?? Number.POSITIVE_INFINITY;
    const felt = ({ answeredAt }: Attempt) => from <= answeredAt && answeredAt < until;
    const those = refusedOnes.filter(({ attempts }) => attempts.some((one) => isRefusal(one) && felt(one)));
    const refusals = those.flatMap(({ attempts }) => attempts.filter((one) => isRefusal(one) && felt(one)));
    return {
      accepted: earliest(those.map(({ attempts }) => attempts.at(-1))) - from,
      lastRefusal: Math.max(from, ...refusals.map(({ answeredAt }) => answeredAt)) - from,
    };
  });
  return {
    refused: refusedOnes.flatMap(({ attempts }) => attempts.filter(isRefusal)).length,
    untilAccepted: longest(outages.map(({ accepted }) => accepted).filter(Number.isFinite)),
    untilLastRefusal: longest(outages.map(({ lastRefusal }) => lastRefusal)),
  };
}

function isRefusal({ status, body }: Attempt): boolean {
  return status === 503 && /"code":"(STORE_UNAVAILABLE|CLAIM_LOST)"/.test(body);
}

function earliest(attempts: readonly (Attempt | undefined)[]): number {
  const taken = attempts.filter((one) => one?.status !== undefined && one.status < 300);
  return Math.min(Number.POSITIVE_INFINITY, ...taken.map((one) => one?.answeredAt ?? 0));
}

function longest(milliseconds: readonly number[]): number {
  return Math.max(0, ...milliseconds) / 1_000;
}

/** Events that were answered 2xx, and whose row a failover took back; another delivery may have written a later one. */
export function countUndone(sent: readonly Sent[], rows: readonly LedgerRow[]): number {
  const accepted = new Map<string, number>();
  for (const { id, attempts } of sent) {
    const last = attempts.at(-1);
    if (last?.status === undefined || last.status >= 300) continue;
    accepted.set(id, Math.min(last.answeredAt, accepted.get(id) ?? Number.POSITIVE_INFINITY));
  }
  const rowsOf = groupByEvent(rows);
  const first = (id: string) => Math.min(...(rowsOf.get(id) ?? []).map(({ at }) => at));
  // Both clocks are this machine's; one of them counts whole milliseconds.
  return [...accepted].filter(([id, answeredAt]) => first(id) > answeredAt + 1).length;
}
