// The method: fresh processes each epoch, contestants in another order each round, the least disturbed window counts.
import type { Contestant } from './contestants.js';
import { contestantsOf } from './contestants.js';
import { type Load, loadFor, type Window } from './load.js';
import type { Profile } from './profiles.js';
import { faultOf, type Server, type Surroundings, serve } from './server.js';

export interface Plan {
  /** Times that all processes are started anew. */
  readonly epochs: number;
  /** Windows of each contestant in an epoch. */
  readonly rounds: number;
  /** Times that a disturbed window is measured again. */
  readonly repeats: number;
  /** Deliveries before anything is counted: Express needs about 40,000 until its code is optimised. */
  readonly warmUp: number;
}

/** The best of all windows; each from the least disturbed ones. */
export interface Figure {
  /** Nanoseconds of CPU for one request. */
  readonly ns: number;
  readonly requestsPerSecond: number;
  readonly windows: number;
  /** Windows in which the server had less of its CPU than it should, however often they were repeated. */
  readonly disturbed: number;
}

export type Figures = ReadonlyMap<string, Figure>;

export interface Measurement {
  readonly profile: Profile;
  readonly figures: Figures;
  /** Who was dropped, and why. */
  readonly dropped: ReadonlyMap<string, string>;
}

/** The server has to have this much of its CPU. */
const UNDISTURBED = 0.95;
const KB = 1_024;

interface Sample {
  readonly ns: number;
  readonly requestsPerSecond: number;
  readonly share: number;
}

interface Entrant {
  readonly contestant: Contestant;
  readonly server: Server;
  readonly load: Load;
}

export async function measure(
  profile: Profile,
  plan: Plan,
  { progress, ...surroundings }: Surroundings & { readonly progress: (text: string) => void },
): Promise<Measurement> {
  const samples = new Map<string, Sample[]>();
  const dropped = new Map<string, string>();
  for (let epoch = 1; epoch <= plan.epochs; epoch += 1) {
    const say = (text: string) => progress(`${profile.name}, epoch ${epoch} of ${plan.epochs}: ${text}`);
    const entrants = await enter(profile, { surroundings, dropped, say });
    try {
      for (const entrant of entrants) {
        say(`warming up ${entrant.contestant.name}`);
        await warmUp(entrant, profile, plan.warmUp);
      }
      for (let round = 1; round <= plan.rounds; round += 1) {
        say(`round ${round} of ${plan.rounds}`);
        for (const entrant of shuffled(entrants)) {
          const { name } = entrant.contestant;
          const taken = await sample(entrant, profile, plan.repeats);
          if (typeof taken === 'string') dropped.set(name, taken);
          else samples.set(name, [...(samples.get(name) ?? []), taken]);
        }
      }
    } finally {
      await Promise.all(entrants.map(({ server }) => server.stop()));
    }
  }
  const kept = [...samples].filter(([name]) => !dropped.has(name));
  return { profile, dropped, figures: new Map(kept.map(([name, taken]) => [name, best(taken)])) };
}

/** Those who prove to be receivers of signed deliveries. */
async function enter(
  profile: Profile,
  given: { surroundings: Surroundings; dropped: Map<string, string>; say: (text: string) => void },
): Promise<Entrant[]> {
  const entrants: Entrant[] = [];
  for (const contestant of contestantsOf(profile.contestants)) {
    given.say(`starting ${contestant.name}`);
    const server = await serve(contestant.name, given.surroundings);
    const fault = await faultOf(contestant, server.port);
    if (fault) {
      given.dropped.set(contestant.name, fault);
      await server.stop();
      continue;
    }
    entrants.push({ contestant, server, load: loadFor(contestant, profile.size, profile.forged) });
  }
  return entrants;
}

/** With small bodies, since a large one makes nothing hot that a small one does not; then with what is to come. */
async function warmUp(
  { contestant, server, load }: Entrant,
  profile: Profile,
  deliveries: number,
): Promise<void> {
  const small = loadFor(contestant, KB, profile.forged);
  for (let done = 0; done < deliveries; ) done += (await small.deliver(server.port, 1)).requests;
  if (profile.size > KB) await load.deliver(server.port, 1);
}

/** One window; the least disturbed one of several where it has to be repeated. Text when the answers are wrong. */
async function sample(
  { server, load }: Entrant,
  profile: Profile,
  repeats: number,
): Promise<Sample | string> {
  let least: Sample | undefined;
  for (let attempt = 0; attempt <= repeats; attempt += 1) {
    const before = server.cpu();
    const window = await load.deliver(server.port, 1);
    const ns = server.cpu() - before;
    const wrong = wrongIn(window, profile.forged);
    if (wrong) return wrong;
    const taken = {
      ns: ns / window.requests,
      requestsPerSecond: (window.requests * 1e6) / window.us,
      share: ns / (window.us * 1_000),
    };
    if (!least || taken.share > least.share) least = taken;
    if (least.share >= UNDISTURBED) break;
  }
  return least ?? 'nothing was measured';
}

function wrongIn({ requests, refused, broken }: Window, forged: boolean): string | undefined {
  if (requests === 0) return 'it answered nothing';
  if (broken > 0) return `${broken} connections or answers failed`;
  if (refused !== (forged ? requests : 0)) return `it refused ${refused} of ${requests} deliveries`;
  return undefined;
}

function best(samples: readonly Sample[]): Figure {
  const undisturbed = samples.filter(({ share }) => share >= UNDISTURBED);
  const counted = undisturbed.length > 0 ? undisturbed : samples;
  return {
    ns: Math.min(...counted.map(({ ns }) => ns)),
    requestsPerSecond: Math.max(...counted.map(({ requestsPerSecond }) => requestsPerSecond)),
    windows: samples.length,
    disturbed: samples.length - undisturbed.length,
  };
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item);
}
