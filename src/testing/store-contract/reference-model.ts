// The store contract, part two: random steps, each answer compared with a reference model.
import type { Claim, Completion } from '../../contracts/idempotency-store.js';
import {
  ALIVE_MS,
  assertSame,
  BRIEF_MS,
  type ContractCases,
  type ContractContext,
  fingerprint,
} from './context.js';

/** One step. `claim` counts back from the last granted claim, and wraps around. */
export type Step =
  | { readonly verb: 'claim'; readonly key: number; readonly bytes: number; readonly leaseMs: number }
  | { readonly verb: 'renew'; readonly claim: number; readonly leaseMs: number }
  | { readonly verb: 'complete'; readonly claim: number }
  | { readonly verb: 'release'; readonly claim: number; readonly finished: readonly string[] }
  | { readonly verb: 'wait'; readonly ms: number };

type ClaimStep = Extract<Step, { verb: 'claim' }>;
/** A step of the owner of a claim. */
type OwnerStep = Extract<Step, { claim: number }>;

/** What the model knows about a key. */
interface Entry {
  attempt: number;
  /** The index of the granted claim that owns it. */
  owner: number | undefined;
  completed: boolean;
  finished: readonly string[];
  fingerprint: string;
  leaseEnds: number;
  forgetAt: number;
}

/**
 * Takes the steps with the store and with the model, and compares the answers.
 *
 * @param retention of the store. Only a store with a simulated clock can be compared this exactly.
 */
export async function compareWithModel(
  context: ContractContext,
  steps: readonly Step[],
  retention = Number.POSITIVE_INFINITY,
): Promise<void> {
  const take = referenceModel(context, retention);
  for (const [index, step] of steps.entries()) {
    try {
      await take(step);
    } catch (error) {
      const taken = steps.slice(0, index + 1).map((each) => JSON.stringify(each));
      throw new Error(`${(error as Error).message} After ${taken.length} steps:\n${taken.join('\n')}`);
    }
  }
}

/** @returns takes one step */
function referenceModel(context: ContractContext, retention: number): (step: Step) => Promise<void> {
  const keys = new Map<number, string>();
  const entries = new Map<string, Entry>();
  const granted: { readonly key: string; readonly claim: Claim<object> }[] = [];
  let now = 0;

  const until = (leaseMs: number): Pick<Entry, 'leaseEnds' | 'forgetAt'> => {
    return { leaseEnds: now + leaseMs, forgetAt: now + Math.max(leaseMs, retention) };
  };

  const claim = async ({ key: index, bytes, leaseMs }: ClaimStep): Promise<void> => {
    const key = keys.get(index) ?? context.key();
    keys.set(index, key);
    const result = await context.claim(key, { bytes: String(bytes), leaseMs });
    const known = entries.get(key);
    const entry = known && known.forgetAt > now ? known : undefined;
    if (entry?.completed) {
      const expected = { status: 'completed', fingerprint: entry.fingerprint };
      return assertSame(result, expected, 'a completed key stays completed');
    }
    if (entry && entry.owner !== undefined && entry.leaseEnds > now)
      return assertSame(result.status, 'in_progress', 'a key with a running lease is in progress');
    if (result.status !== 'claimed') return assertSame(result.status, 'claimed', 'a free key is granted');
    const attempt = (entry?.attempt ?? 0) + 1;
    const finished = entry?.finished ?? [];
    const got = [result.claim.attempt, result.claim.finished];
    assertSame(got, [attempt, finished], 'a claim has its attempt number and the finished handlers');
    const owner = granted.push({ key, claim: result.claim }) - 1;
    const common = { attempt, owner, finished, fingerprint: fingerprint(String(bytes)) };
    entries.set(key, { ...common, completed: false, ...until(leaseMs) });
  };

  const write = async (step: OwnerStep): Promise<void> => {
    const number = granted.length - 1 - (step.claim % granted.length);
    const chosen = granted[number];
    if (!chosen) return;
    const entry = entries.get(chosen.key);
    const owns = entry?.owner === number;
    const answer = await callStore(step, chosen.claim);
    const expected = owns && (step.verb === 'complete' || !entry.completed);
    // After the retention a store may or may not know the owner. The model follows its answer.
    if (expected && !answer && entry.forgetAt <= now) {
      entries.delete(chosen.key);
      return;
    }
    assertSame(answer, expected, `only the owner may ${step.verb}`);
    if (!expected || entry.completed) return;
    Object.assign(entry, until(step.verb === 'renew' ? step.leaseMs : 0));
    if (step.verb === 'complete') entry.completed = true;
    if (step.verb === 'release') Object.assign(entry, { owner: undefined, finished: step.finished });
  };

  return async (step) => {
    if (step.verb === 'wait') {
      await context.sleep(step.ms);
      now += step.ms;
    } else if (step.verb === 'claim') await claim(step);
    else if (granted.length > 0) await write(step);
  };
}

function callStore(step: OwnerStep, claim: Claim<object>): Completion | Promise<Completion> {
  if (step.verb === 'renew') return claim.renew(step.leaseMs);
  return step.verb === 'complete' ? claim.complete() : claim.release(step.finished);
}

const STEPS = 80;

export const MODEL_CASES: ContractCases = Object.fromEntries(
  [1, 2, 3].map((seed) => [
    `${STEPS} random steps (seed ${seed}) are answered as in the reference model`,
    (context: ContractContext) => compareWithModel(context, randomSteps(seed)),
  ]),
);

/** The same steps for the same seed in every version of Node. */
function randomSteps(seed: number): Step[] {
  let state = seed;
  const below = (limit: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const verbs = ['claim', 'claim', 'claim', 'renew', 'complete', 'release', 'release'] as const;
  return Array.from({ length: STEPS }, (_, index) => {
    const brief = below(4) === 0;
    const step = {
      verb: verbs[below(verbs.length)] ?? 'claim',
      // A completed key always gives the same answer, so the steps move on to new keys.
      key: Math.floor(index / 15) + below(2),
      bytes: below(2),
      claim: below(2) * below(100),
      leaseMs: brief ? BRIEF_MS : ALIVE_MS,
      finished: ['mail', 'audit'].slice(below(3)),
    };
    // A brief lease lapses before the next step, and a long one lasts to the end.
    return brief ? [step, { verb: 'wait', ms: 4 * BRIEF_MS } as const] : [step];
  }).flat();
}
