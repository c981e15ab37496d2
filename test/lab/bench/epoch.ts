// An epoch: rounds of windows on processes that were started for it. Two contestants are compared within each round, so that
// a disturbance of the whole round cancels out.

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

/** One window of every contestant, by name, close enough in time to share any disturbance of the machine. */
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

/** Compares one sample with another; `undefined` when a figure is missing. */
export type Comparison = (one: Sample, other: Sample) => number | undefined;

/** The ratio of the same figure, or of the same sum of figures. */
export function ratioOf(...figures: readonly Figure[]): Comparison {
  const sumOf = (sample: Sample) => figures.reduce((sum, figure) => sum + (sample[figure] ?? Number.NaN), 0);
  return (one, other) => {
    const ratio = sumOf(one) / sumOf(other);
    return Number.isFinite(ratio) ? ratio : undefined;
  };
}

/** One value for each round in which both contestants had an undisturbed window, by epoch. */
export function paired(
  epochs: readonly Epoch[],
  [one, other]: readonly [string, string],
  compare: Comparison,
): number[][] {
  return epochs.map(({ rounds }) =>
    rounds.flatMap((round) => {
      const [mine, theirs] = [undisturbed(round, one), undisturbed(round, other)];
      return (mine && theirs && compare(mine, theirs)) ?? [];
    }),
  );
}

/** Every value of one figure, of all undisturbed windows. */
export function valuesOf(epochs: readonly Epoch[], name: string, figure: Figure): number[] {
  return epochs.flatMap(({ rounds }) => rounds.flatMap((round) => undisturbed(round, name)?.[figure] ?? []));
}

function undisturbed(round: Round, name: string): Sample | undefined {
  const sample = round[name];
  return sample && !isDisturbed(sample) ? sample : undefined;
}
