// How long a fault was felt: what was refused after it, and until when.
import type { InjectedFault } from '../nemesis.js';
import type { Attempt, Sent } from '../sender.js';

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
