// Something that is measured in epochs, and what its epochs depend on.
import type { Measured } from './epoch.js';

/** What is said of an epoch while it runs, and when its time is up. */
export interface Course {
  readonly say: (text: string) => void;
  /** A time of `performance.now()`. */
  readonly until: number;
}

export interface Experiment {
  readonly name: string;
  readonly title: string;
  readonly contestants: readonly string[];
  /** Whatever its figures depend on: epochs of one key belong together, and only they. */
  readonly key: Readonly<Record<string, string | number>>;
  /** Seconds that an epoch takes, as long as none was timed. */
  readonly expectedSeconds: number;
  /** One epoch; `undefined` when its time was up before there was anything to keep. */
  measure(course: Course): Promise<Measured | undefined>;
}
