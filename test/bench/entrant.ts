// A contestant that takes part in an epoch: its process, and the load it is under.
import { type Contestant, contestantOf } from './contestants.js';
import { isDisturbed, type Sample } from './epoch.js';
import { type Load, loadFor, type Window } from './load.js';
import { KB, type Profile } from './profiles.js';
import { checkReceiver, type Server, type Surroundings, serve } from './server.js';

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

export class Entrant {
  readonly name: string;
  readonly #contestant: Contestant;
  readonly #server: Server;
  /** With the body of the profile, and with a small one. */
  readonly #load: Load;
  readonly #smallLoad: Load;
  readonly #forged: boolean;

  private constructor(entry: Entry, server: Server, { size, forged, repeated }: Profile) {
    this.name = entry.name;
    this.#contestant = contestantOf(entry.contestant);
    this.#server = server;
    this.#forged = forged;
    const kind = { forged: this.#forged, repeated };
    this.#load = loadFor(this.#contestant, { size, ...kind });
    this.#smallLoad = size > KB ? loadFor(this.#contestant, { size: KB, ...kind }) : this.#load;
  }

  /** Starts, checks and warms up its process. Throws when it is not a receiver of signed deliveries. */
  static async enter(entry: Entry, profile: Profile, surroundings: Surroundings): Promise<Entrant> {
    const env = { ...surroundings.env, BENCH_PACKAGE: entry.build };
    const server = await serve(entry.contestant, { ...surroundings, env });
    try {
      await checkReceiver(contestantOf(entry.contestant), server.port);
      const entrant = new Entrant(entry, server, profile);
      await entrant.#warmUp();
      return entrant;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  /** One window; the least disturbed of several where it has to be repeated. */
  async sample(): Promise<Sample> {
    let least = await this.#window();
    for (let repeat = 0; repeat < REPEATS && isDisturbed(least); repeat += 1) {
      const again = await this.#window();
      if ((again.share ?? 1) > (least.share ?? 1)) least = again;
    }
    return least;
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  /** With small bodies, since a large one makes nothing hot that a small one does not; then with what is to come. */
  async #warmUp(): Promise<void> {
    for (let done = 0; done < WARM_UP; ) done += (await this.#deliver(this.#smallLoad)).requests;
    if (this.#load !== this.#smallLoad) await this.#deliver(this.#load);
  }

  async #window(): Promise<Sample> {
    const before = this.#server.cpu();
    const { requests, us } = await this.#deliver(this.#load);
    const ns = this.#server.cpu() - before;
    const figures = { cpuNs: ns / requests, requestsPerSecond: (requests * 1e6) / us };
    return this.#contestant.store ? figures : { ...figures, share: ns / (us * 1_000) };
  }

  /** For a second. Throws when the answers are not those that are due. */
  async #deliver(load: Load): Promise<Window> {
    const window = await load.deliver(this.#server.port, 1);
    const { requests, refused, broken } = window;
    if (requests === 0) throw new Error('it answered nothing');
    if (broken > 0) throw new Error(`${broken} connections or answers failed`);
    if (refused !== (this.#forged ? requests : 0))
      throw new Error(`it refused ${refused} of ${requests} deliveries`);
    return window;
  }
}
