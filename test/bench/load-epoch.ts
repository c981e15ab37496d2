// One epoch of a profile: fresh processes, then rounds in which each contestant has one window, in another order.
import { startRedis } from '../setup/services.js';
import { contestantOf } from './contestants.js';
import { Entrant, type Entry } from './entrant.js';
import type { Epoch, Round, Sample } from './epoch.js';
import { shuffled } from './numbers.js';
import type { Profile } from './profiles.js';

export interface Plan {
  /** Windows of each contestant. */
  readonly rounds: number;
  /** The program that runs the contestants. */
  readonly node: string;
  readonly say: (text: string) => void;
}

export async function measureLoadEpoch(
  profile: Profile,
  entries: readonly Entry[],
  plan: Plan,
): Promise<Epoch> {
  const stores = entries.map(({ contestant }) => contestantOf(contestant).store);
  const redis = stores.includes('redis') ? await startRedis() : undefined;
  const env = redis ? { BENCH_REDIS_URL: redis.url } : {};
  const entrants: Entrant[] = [];
  const dropped: Record<string, string> = {};
  const orDrop = async <Result>(name: string, work: () => Promise<Result>): Promise<Result | undefined> => {
    try {
      return await work();
    } catch (error) {
      dropped[name] = error instanceof Error ? error.message : String(error);
      return undefined;
    }
  };
  try {
    for (const entry of shuffled(entries)) {
      plan.say(`warming up ${entry.name}`);
      const entrant = await orDrop(entry.name, () => Entrant.enter(entry, profile, { node: plan.node, env }));
      if (entrant) entrants.push(entrant);
    }
    const rounds: Round[] = [];
    while (rounds.length < plan.rounds) {
      plan.say(`round ${rounds.length + 1} of ${plan.rounds}`);
      const round: Record<string, Sample> = {};
      for (const entrant of shuffled(entrants.filter(({ name }) => !(name in dropped)))) {
        const sample = await orDrop(entrant.name, () => entrant.sample());
        if (sample) round[entrant.name] = sample;
      }
      rounds.push(round);
    }
    return { rounds, dropped };
  } finally {
    await Promise.all(entrants.map((entrant) => entrant.stop()));
    await redis?.stop();
  }
}
