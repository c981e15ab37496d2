// One epoch of a profile: fresh processes, then rounds in which each contestant has one window, in another order.
import { startRedis } from '../../setup/services.js';
import { contestantOf } from './contestants.js';
import { type Epoch, isDisturbed, type Round, type Sample } from './epoch.js';
import { type Load, loadFor } from './load.js';
import { KB, type Profile } from './profiles.js';
import { checkReceiver, type Server, serve } from './server.js';
import { shuffled } from './statistics.js';

/** Deliveries before anything is counted: Express needs about 40,000 until its code is optimised. */
const WARM_UP = 40_000;
/** Times that a disturbed window is measured again. */
const REPEATS = 3;

/** A contestant by the name it has in this run: with `--ab` one takes part once for each build. */
export interface Entry {
  readonly name: string;
  readonly contestant: string;
  /** Folder of the build, if it is built from this package. */
  readonly build: string;
}

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
  { rounds: wanted, node, say }: Plan,
): Promise<Epoch> {
  const redis = entries.some(({ contestant }) => contestantOf(contestant).waits)
    ? await startRedis()
    : undefined;
  const servers = new Map<string, Server>();
  const windows = new Map<string, () => Promise<Sample>>();
  const dropped: Record<string, string> = {};
  const orDrop = async (name: string, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      windows.delete(name);
      await servers.get(name)?.stop();
      dropped[name] = error instanceof Error ? error.message : String(error);
    }
  };
  try {
    for (const { name, contestant, build } of shuffled(entries)) {
      say(`warming up ${name}`);
      await orDrop(name, async () => {
        const env = { ...(redis && { BENCH_REDIS_URL: redis.url }), BENCH_PACKAGE: build };
        const server = await serve(contestant, { node, env });
        servers.set(name, server);
        windows.set(name, await warmedUp(contestant, server, profile));
      });
    }
    const rounds: Round[] = [];
    while (rounds.length < wanted) {
      say(`round ${rounds.length + 1} of ${wanted}`);
      const round: Record<string, Sample> = {};
      for (const [name, window] of shuffled([...windows])) {
        await orDrop(name, async () => {
          round[name] = await leastDisturbed(window);
        });
      }
      rounds.push(round);
    }
    return { rounds, dropped };
  } finally {
    await Promise.all([...servers.values()].map((server) => server.stop()));
    await redis?.stop();
  }
}

/** Checks a contestant and warms it up. Throws if it is no receiver. @returns measures one window */
async function warmedUp(
  name: string,
  server: Server,
  { size, forged, repeated }: Profile,
): Promise<() => Promise<Sample>> {
  const contestant = contestantOf(name);
  await checkReceiver(contestant, server.port);
  const load = loadFor(contestant, { size, forged, repeated });
  const smallLoad = size > KB ? loadFor(contestant, { size: KB, forged, repeated }) : load;
  /** For a second. Throws if an answer is not the expected one. */
  const deliver = async (send: Load) => {
    const window = await send(server.port);
    const { requests, refused, broken } = window;
    if (requests === 0) throw new Error('it answered nothing');
    if (broken > 0) throw new Error(`${broken} connections or answers failed`);
    if (refused !== (forged ? requests : 0))
      throw new Error(`it refused ${refused} of ${requests} deliveries`);
    return window;
  };
  // With small bodies, since a large one makes nothing hot that a small one does not; then with what is to come.
  for (let done = 0; done < WARM_UP; ) done += (await deliver(smallLoad)).requests;
  if (load !== smallLoad) await deliver(load);
  return async () => {
    const before = server.cpu();
    const { requests, us } = await deliver(load);
    const ns = server.cpu() - before;
    const figures = { cpuNs: ns / requests, requestsPerSecond: (requests * 1e6) / us };
    return contestant.waits ? figures : { ...figures, share: ns / (us * 1_000) };
  };
}

/** Repeats a disturbed window, and takes the least disturbed one. */
async function leastDisturbed(window: () => Promise<Sample>): Promise<Sample> {
  let least = await window();
  for (let repeat = 0; repeat < REPEATS && isDisturbed(least); repeat += 1) {
    const again = await window();
    if ((again.share ?? 1) > (least.share ?? 1)) least = again;
  }
  return least;
}
