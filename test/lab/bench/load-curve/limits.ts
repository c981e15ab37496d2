// The largest rate at which deliveries are answered in time, found by a ladder of rates and then between two of its steps.

export interface Step {
  readonly rate: number;
  /** Milliseconds within which 99 of 100 were answered, or {@link NOT_ANSWERED}. */
  readonly p99: number;
}

export interface Limit {
  readonly rate: number;
  /** In the order in which they were measured. */
  readonly steps: readonly Step[];
}

export const MAX_P99 = 100;
/** Not every delivery was answered 200, or more waited than can be answered in time. */
export const NOT_ANSWERED = 60_000;
const FIRST = 250;
const LAST = 64_000;
const FACTOR = Math.SQRT2;
/** A hiccup of the machine must not end the search, nor two. */
const ATTEMPTS = 3;
/** Each halves what is left between two steps: after 4, 2 %. */
const HALVINGS = 4;

/** @param measure one window at a rate */
export async function largestRate(measure: (rate: number) => Promise<Step>): Promise<Limit> {
  const steps: Step[] = [];
  const holds = async (rate: number) => {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const step = await measure(Math.round(rate));
      if (step.p99 <= MAX_P99 || attempt === ATTEMPTS) steps.push(step);
      if (step.p99 <= MAX_P99) return true;
    }
    return false;
  };
  let low = 0;
  let high = FIRST;
  while (high < LAST && (await holds(high))) [low, high] = [high, high * FACTOR];
  if (low === 0) return { rate: 0, steps };
  for (let halving = 0; halving < HALVINGS; halving += 1) {
    const middle = Math.sqrt(low * high);
    if (await holds(middle)) low = middle;
    else high = middle;
  }
  return { rate: Math.round(low), steps };
}
