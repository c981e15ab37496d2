// Metrics of dead letters, counted in their store when metrics are collected.
import {
  type BatchObservableResult,
  createNoopMeter,
  type Meter,
  type MeterProvider,
  metrics,
  type ObservableGauge,
} from '@opentelemetry/api';
import { Probe } from '../claims/probe.js';
import type { DeadLetterGroup } from '../contracts/dead-letter-store.js';
import { ConfigurationError } from '../errors.js';
import { refuseUnknownOptions, show } from '../misuse.js';
import { plainObject } from '../options/define-options.js';
import { letterLabels } from './metrics.js';
import { checkProvider } from './open-telemetry.js';
import { SCOPE } from './spans.js';

/** What `hooks.deadLetters.count()` resolves with. */
export interface CountedLetters {
  readonly groups: readonly DeadLetterGroup[];
  readonly oldest: Date | undefined;
}

/** What `receiver()` returned, with dead letters. */
export interface ObservedReceiver {
  readonly deadLetters: { count(): Promise<CountedLetters> };
  readonly eventNames: readonly string[];
}

export interface ObserveDeadLettersOptions {
  /** @default the globally registered one */
  readonly meterProvider?: MeterProvider | undefined;
}

/** Milliseconds to wait for the store, and to share one count. */
const RULES = { timeout: 2_000, cache: 1_000 } as const;

/**
 * Reports the number of dead letters by reason and event name, and the age of the oldest. Each collection of metrics
 * counts them in their store. Every process that calls it reports the same letters: take the maximum, not the sum. Call it
 * once for each namespace, after the SDK is registered; without an SDK it does nothing.
 *
 * @returns stops reporting: call it before you close the pool or client of the store
 * @throws {ConfigurationError} for a receiver without dead letters, an invalid provider or an unknown option
 * @example
 * const stop = observeDeadLetters(hooks);
 */
export function observeDeadLetters(
  hooks: ObservedReceiver,
  options: ObserveDeadLettersOptions = {},
): () => void {
  if (typeof hooks?.deadLetters?.count !== 'function') {
    throw new ConfigurationError(
      `observeDeadLetters() was given ${show(hooks)} without dead letters. Pass what receiver({ deadLetters }) returned.`,
    );
  }
  refuseUnknownOptions(plainObject(options, 'The second argument of observeDeadLetters()', 'options'), [
    'meterProvider',
  ]);
  checkProvider('meterProvider', options.meterProvider, 'getMeter');
  const provider = options.meterProvider ?? metrics.getMeterProvider();
  const meter = provider.getMeter(SCOPE);
  if (meter === createNoopMeter()) return () => {};
  const observed = byProvider.get(provider) ?? new DeadLetterMetrics(meter);
  byProvider.set(provider, observed);
  return observed.add(hooks);
}

/** Receivers of one process share their metrics, so that their values add up. */
const byProvider = new WeakMap<MeterProvider, DeadLetterMetrics>();

interface Source {
  readonly count: Probe<CountedLetters>;
  readonly declared: ReadonlySet<string>;
}

class DeadLetterMetrics {
  readonly #sources = new Set<Source>();
  /** Labels as JSON. Their number is bounded by the reasons and the declared names: undeclared names share a label. */
  readonly #reported = new Set<string>();
  readonly #letters: ObservableGauge;
  readonly #age: ObservableGauge;

  constructor(meter: Meter) {
    this.#letters = meter.createObservableGauge('webhook.dead_letters', {
      unit: '{letter}',
      description: 'Dead letters in the store that all processes share.',
    });
    this.#age = meter.createObservableGauge('webhook.dead_letters.age', {
      unit: 's',
      description: 'How long the oldest dead letter has been kept.',
    });
    meter.addBatchObservableCallback((result) => this.#observe(result), [this.#letters, this.#age]);
  }

  add({ deadLetters, eventNames }: ObservedReceiver): () => void {
    const count = new Probe(() => deadLetters.count(), RULES);
    const source: Source = { count, declared: new Set(eventNames) };
    this.#sources.add(source);
    return () => void this.#sources.delete(source);
  }

  /** Unless every store answers, the last values stay: a partial count would look like fewer letters. */
  async #observe(result: BatchObservableResult): Promise<void> {
    const sources = [...this.#sources];
    const counts = await Promise.all(sources.map(({ count }) => count.read()));
    const known = counts.filter((count) => count !== undefined);
    if (known.length < sources.length) return;
    // An SDK keeps reporting the last value of labels that are no longer observed.
    const sums = new Map([...this.#reported].map((labels) => [labels, 0]));
    for (const [index, { groups }] of known.entries()) {
      const { declared } = sources[index] as Source;
      for (const { reason, eventName, count } of groups) {
        const labels = JSON.stringify(letterLabels(reason, eventName, declared.has(eventName)));
        sums.set(labels, (sums.get(labels) ?? 0) + count);
      }
    }
    for (const [labels, letters] of sums) {
      this.#reported.add(labels);
      result.observe(this.#letters, letters, JSON.parse(labels));
    }
    result.observe(this.#age, Math.max(0, ...known.map(ageOf)));
  }
}

/** Seconds; 0 without letters, or if the clock of the store is ahead. */
function ageOf({ oldest }: CountedLetters): number {
  return oldest ? Math.max(Date.now() - oldest.getTime(), 0) / 1_000 : 0;
}
