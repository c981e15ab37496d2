// Pairs two contestants within each round, so that what disturbs the whole round cancels.
import { type Epoch, type Figure, isDisturbed, type Round, type Sample } from './epoch.js';

/** What one sample comes to beside another; `undefined` when a figure is missing. */
export type Comparison = (one: Sample, other: Sample) => number | undefined;

/** The ratio of the same figure, or of the same sum of figures. */
export function ratioOf(...figures: readonly Figure[]): Comparison {
  return (one, other) => {
    const [upper, lower] = [one, other].map((sample) =>
      figures.reduce((sum, figure) => sum + (sample[figure] ?? Number.NaN), 0),
    ) as [number, number];
    const ratio = upper / lower;
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
