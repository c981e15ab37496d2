// The store contract, part five: a walk of many steps, each held against what a store of no cunning would answer.
import type { Claim } from '../stores/store.js';
import { ALIVE_MS, BRIEF_MS, fingerprint, type StorePromise, same, type Trial } from './store-trial.js';

/** One step; `claim` counts back from the claim that was granted last, and wraps around. */
export type Step =
  | { readonly verb: 'claim'; readonly key: number; readonly bytes: number; readonly leaseMs: number }
  | { readonly verb: 'renew'; readonly claim: number; readonly leaseMs: number }
  | { readonly verb: 'complete'; readonly claim: number }
  | { readonly verb: 'release'; readonly claim: number; readonly finished: readonly string[] }
  | { readonly verb: 'wait'; readonly ms: number };

/** What must be known of a key. */
interface Entry {
  attempt: number;
  /** Which granted claim owns it. */
  owner: number | undefined;
  completed: boolean;
  finished: readonly string[];
  fingerprint: string;
  leaseEnds: number;
  forgetAt: number;
}

/** @param retention of the store; only a store whose clock stands still between waits can be held to one this exactly */
export async function walk(
  trial: Trial,
  steps: readonly Step[],
  retention = Number.POSITIVE_INFINITY,
): Promise<void> {
  const walker = new Walker(trial, retention);
  for (const [index, step] of steps.entries()) {
    try {
      await walker.take(step);
    } catch (error) {
      const before = steps.slice(0, index + 1).map((each) => JSON.stringify(each));
      throw new Error(`${(error as Error).message} After ${before.length} steps:\n${before.join('\n')}`);
    }
  }
}

class Walker {
  readonly #trial: Trial;
  readonly #retention: number;
  readonly #keys = new Map<number, string>();
  readonly #entries = new Map<string, Entry>();
  readonly #granted: { readonly key: string; readonly claim: Claim<object> }[] = [];
  #now = 0;

  constructor(trial: Trial, retention: number) {
    this.#trial = trial;
    this.#retention = retention;
  }

  async take(step: Step): Promise<void> {
    if (step.verb === 'wait') {
      await this.#trial.sleep(step.ms);
      this.#now += step.ms;
    } else if (step.verb === 'claim') await this.#claim(step);
    else if (this.#granted.length > 0)
      await this.#write(step, this.#granted.length - 1 - (step.claim % this.#granted.length));
  }

  async #claim({ key: index, bytes, leaseMs }: Extract<Step, { verb: 'claim' }>): Promise<void> {
    const key = this.#keys.get(index) ?? this.#trial.key();
    this.#keys.set(index, key);
    const result = await this.#trial.claim(key, { bytes: String(bytes), leaseMs });
    const entry = this.#remembered(key);
    if (entry?.completed)
      return same(
        result,
        { status: 'completed', fingerprint: entry.fingerprint },
        'a completed key stays so',
      );
    if (entry && entry.owner !== undefined && entry.leaseEnds > this.#now)
      return same(result.status, 'in_progress', 'a key whose lease runs is in progress');
    const { attempt = 0, finished = [] } = entry ?? {};
    if (result.status !== 'claimed')
      return same(result.status, 'claimed', 'a key that nobody holds is granted');
    const is = [result.claim.attempt, result.claim.finished];
    same(is, [attempt + 1, finished], 'a claim knows its attempt and what has finished');
    const owner = this.#granted.push({ key, claim: result.claim }) - 1;
    const entered = {
      attempt: attempt + 1,
      owner,
      completed: false,
      finished,
      fingerprint: fingerprint(String(bytes)),
    };
    this.#entries.set(key, { ...entered, ...this.#until(leaseMs) });
  }

  async #write(step: Extract<Step, { claim: number }>, number: number): Promise<void> {
    const granted = this.#granted[number];
    if (!granted) return;
    const entry = this.#entries.get(granted.key);
    const owns = entry?.owner === number;
    const answer = await this.#ask(step, granted.claim);
    const expected = owns && (step.verb === 'complete' || !entry.completed);
    // Whether a forgotten key still knows its owner is nobody's business; what follows from the answer is.
    if (expected && !answer && entry.forgetAt <= this.#now) {
      this.#entries.delete(granted.key);
      return;
    }
    same(answer, expected, `only the owner may ${step.verb}`);
    if (expected && !entry.completed) this.#note(step, entry);
  }

  #ask(step: Extract<Step, { claim: number }>, claim: Claim<object>): Promise<boolean> {
    if (step.verb === 'renew') return claim.renew(step.leaseMs);
    return step.verb === 'complete' ? claim.complete() : claim.release(step.finished);
  }

  #note(step: Extract<Step, { claim: number }>, entry: Entry): void {
    Object.assign(entry, this.#until(step.verb === 'renew' ? step.leaseMs : 0));
    if (step.verb === 'complete') entry.completed = true;
    if (step.verb === 'release') Object.assign(entry, { owner: undefined, finished: step.finished });
  }

  #until(leaseMs: number): Pick<Entry, 'leaseEnds' | 'forgetAt'> {
    return { leaseEnds: this.#now + leaseMs, forgetAt: this.#now + Math.max(leaseMs, this.#retention) };
  }

  #remembered(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    return entry && entry.forgetAt > this.#now ? entry : undefined;
  }
}

const STEPS = 80;

export const WALK_PROMISES: readonly StorePromise[] = [1, 2, 3].map((seed) => ({
  name: `${STEPS} steps chosen by chance (seed ${seed}) are each answered as promised`,
  check: (trial) => walk(trial, stepsOf(seed)),
}));

/** The same steps for the same seed, in every version of Node. */
function stepsOf(seed: number): Step[] {
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
      // Keys that were completed have little more to say, so others take their place.
      key: Math.floor(index / 15) + below(2),
      bytes: below(2),
      claim: below(2) * below(100),
      leaseMs: brief ? BRIEF_MS : ALIVE_MS,
      finished: ['mail', 'audit'].slice(below(3)),
    };
    // A brief lease has lapsed for certain before the next step, and a long one lasts to the end.
    return brief ? [step, { verb: 'wait', ms: 4 * BRIEF_MS } as const] : [step];
  }).flat();
}
