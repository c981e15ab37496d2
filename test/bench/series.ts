// An experiment with the epochs that it has so far: those on disk, and those that are added.
import type { Epoch } from './epoch.js';
import { EpochFile } from './epoch-file.js';
import type { Experiment } from './experiment.js';
import { median } from './median.js';

export class Series {
  readonly experiment: Experiment;
  readonly #file: EpochFile;
  readonly #epochs: Epoch[];
  /** How long each epoch took, also of those that were discarded. */
  readonly #seconds: number[];

  constructor(experiment: Experiment, folder: string) {
    this.experiment = experiment;
    this.#file = new EpochFile(folder, experiment);
    this.#epochs = this.#file.read();
    this.#seconds = this.#epochs.map(({ seconds }) => seconds);
  }

  get epochs(): readonly Epoch[] {
    return this.#epochs;
  }

  /** Contestants by name that were dropped in any epoch, and why. */
  get dropped(): Readonly<Record<string, string>> {
    return Object.assign({}, ...this.#epochs.map(({ dropped }) => dropped));
  }

  /** Epochs that were begun and ended, also those that were discarded. */
  get attempts(): number {
    return this.#seconds.length;
  }

  /** Seconds that the next epoch takes at most, as far as is known. */
  get longest(): number {
    return this.#seconds.length > 0 ? Math.max(...this.#seconds) : this.experiment.expectedSeconds;
  }

  /** Seconds until there are so many epochs. */
  remaining(epochs: number): number {
    const typical = this.#seconds.length > 0 ? median(this.#seconds) : this.experiment.expectedSeconds;
    return Math.max(0, epochs - this.#epochs.length) * typical;
  }

  add(epoch: Epoch): void {
    this.#file.append(epoch);
    this.#epochs.push(epoch);
    this.#seconds.push(epoch.seconds);
  }

  /** It took its time, and that is all that it says. */
  discard({ seconds }: Epoch): void {
    this.#seconds.push(seconds);
  }

  restart(): void {
    this.#file.delete();
    this.#epochs.length = 0;
    this.#seconds.length = 0;
  }
}
