// An epoch: rounds of windows on processes that were started for it.

export type Figure =
  /** Nanoseconds of CPU of the server for one request. */
  | 'cpuNs'
  | 'requestsPerSecond'
  /** The part of its CPU that the server had, from 0 to 1; left out where it waits for a store. */
  | 'share'
  /** Bytes of buffers that hold the bodies of waiting deliveries. */
  | 'bodyBytes'
  /** Bytes that waiting deliveries hold in all. */
  | 'heldBytes'
  /** Microseconds for one operation: elapsed, of the client's CPU, of the server's CPU. */
  | 'wallUs'
  | 'clientUs'
  | 'serverUs';

/** What was measured of one contestant in one round. */
export type Sample = Readonly<Partial<Record<Figure, number>>>;

/** The server has to have this much of its CPU: with less it wakes up more often, and each request costs more. */
const UNDISTURBED = 0.95;

export function isDisturbed({ share = 1 }: Sample): boolean {
  return share < UNDISTURBED;
}

/** One window of every contestant, by name, close enough in time to share whatever disturbs the machine. */
export type Round = Readonly<Record<string, Sample>>;

export interface Epoch {
  readonly rounds: readonly Round[];
  /** Who was dropped, and why. */
  readonly dropped: Readonly<Record<string, string>>;
}

/** A contestant that had no undisturbed window in the epoch, so that the epoch says nothing about it. */
export function disturbedContestant({ rounds }: Epoch): string | undefined {
  const names = new Set(rounds.flatMap((round) => Object.keys(round)));
  return [...names].find((name) => rounds.every(({ [name]: sample }) => !sample || isDisturbed(sample)));
}
