// The metrics of all receivers of one meter provider. Every label has a closed set of values.
import {
  type Attributes,
  type Counter,
  createNoopMeter,
  type Histogram,
  type Meter,
  type MeterProvider,
  metrics,
} from '@opentelemetry/api';
import type { DeliveryRecord, ExhaustedLetter } from '../observer.js';
import { type HandlerCall, SCOPE } from './spans.js';

/** What OpenTelemetry calls a value outside of a known set. */
const OTHER = '_OTHER';

/** Seconds. Up to the largest `timeout` that is likely; handlers may go on until `maxHandlerTime`. */
const DELIVERY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const HANDLER_SECONDS = [...DELIVERY_SECONDS, 60, 120, 300];
const STORE_SECONDS = [0.0005, ...DELIVERY_SECONDS.slice(0, 11)];

/** One call of a handler that has not settled. */
interface RunningHandler {
  readonly eventId: string;
  readonly startedAt: number;
  /** Its delivery was answered before it settled. */
  outlives: boolean;
}

export class DeliveryMetrics {
  #unanswered = 0;
  readonly #running = new Set<RunningHandler>();
  readonly #deliveries: Counter;
  readonly #lettersKept: Counter;
  readonly #lettersExhausted: Counter;
  readonly #deliveryDuration: Histogram;
  readonly #handlerDuration: Histogram;
  readonly #storeDuration: Histogram;

  constructor(meter: Meter) {
    const histogram = (name: string, description: string, explicitBucketBoundaries: number[]) =>
      meter.createHistogram(name, { unit: 's', description, advice: { explicitBucketBoundaries } });
    this.#deliveries = meter.createCounter('webhook.deliveries', {
      unit: '{delivery}',
      description: 'Deliveries by what became of them.',
    });
    this.#lettersKept = meter.createCounter('webhook.dead_letters.kept', {
      unit: '{delivery}',
      description: 'Deliveries whose event was kept as a dead letter, or stayed one.',
    });
    this.#lettersExhausted = meter.createCounter('webhook.dead_letters.exhausted', {
      unit: '{letter}',
      description: 'Dead letters that were retried for the last time, and stay.',
    });
    this.#deliveryDuration = histogram(
      'webhook.delivery.duration',
      'From the first look at a delivery to its answer.',
      DELIVERY_SECONDS,
    );
    this.#handlerDuration = histogram(
      'webhook.handler.duration',
      'From the call of a handler until it has settled.',
      HANDLER_SECONDS,
    );
    this.#storeDuration = histogram(
      'webhook.store.duration',
      'What a delivery has waited for the store.',
      STORE_SECONDS,
    );
    this.#observeRunning(meter);
  }

  #observeRunning(meter: Meter): void {
    meter
      .createObservableUpDownCounter('webhook.in_flight', {
        unit: '{delivery}',
        description: 'Deliveries that are not answered yet, or whose handlers still run.',
      })
      .addCallback((result) => result.observe(this.#inFlight()));
    meter
      .createObservableGauge('webhook.in_progress.age', {
        unit: 's',
        description: 'Since when the oldest handler that has not settled is running.',
      })
      .addCallback((result) => result.observe(this.#oldestMs() / 1_000));
  }

  async delivery<T>(work: () => Promise<T>): Promise<T> {
    this.#unanswered += 1;
    try {
      return await work();
    } finally {
      this.#unanswered -= 1;
    }
  }

  async handler<T>({ event, name }: HandlerCall, work: () => Promise<T>): Promise<T> {
    const run = { eventId: event.id, startedAt: performance.now(), outlives: false };
    this.#running.add(run);
    let status = 'rejected';
    try {
      const value = await work();
      status = 'fulfilled';
      return value;
    } finally {
      this.#running.delete(run);
      this.#handlerDuration.record((performance.now() - run.startedAt) / 1_000, {
        'webhook.handler.name': name,
        'webhook.handler.status': status,
      });
    }
  }

  settled(record: DeliveryRecord): void {
    const attributes = labelsOf(record);
    this.#deliveries.add(1, attributes);
    if (record.deadLetter) this.#lettersKept.add(1, letterLabelsOf(record));
    this.#deliveryDuration.record(record.durationMs / 1_000, attributes);
    if (record.storeMs !== undefined) this.#storeDuration.record(record.storeMs / 1_000);
    // Past `timeout` a delivery is answered, and yet in flight until its handlers have settled.
    if (record.handlers.some(({ status }) => status === 'running'))
      for (const run of this.#running) if (run.eventId === record.eventId) run.outlives = true;
  }

  exhausted({ reason, eventName, declared }: ExhaustedLetter): void {
    this.#lettersExhausted.add(1, { 'webhook.dead_letter': reason, ...nameLabel(eventName, declared) });
  }

  #inFlight(): number {
    const outlived = [...this.#running].filter(({ outlives }) => outlives).map(({ eventId }) => eventId);
    return this.#unanswered + new Set(outlived).size;
  }

  /** 0 when no handler runs. */
  #oldestMs(): number {
    const now = performance.now();
    let oldest = now;
    for (const { startedAt } of this.#running) oldest = Math.min(oldest, startedAt);
    return now - oldest;
  }
}

/** Of names that nobody declared there may be any number. */
export function nameLabel(eventName: string, declared: boolean | undefined): Attributes {
  return { 'webhook.event.name': declared ? eventName : OTHER };
}

function labelsOf({ eventName, declared, outcome, code, verdict, status }: DeliveryRecord): Attributes {
  return {
    ...(eventName !== undefined && nameLabel(eventName, declared)),
    ...(outcome && { 'webhook.outcome': outcome }),
    ...(code && { 'webhook.code': code }),
    ...(verdict && { 'webhook.verdict': verdict }),
    ...(status && { 'http.response.status_code': status }),
  };
}

function letterLabelsOf({ deadLetter, eventName = '', declared }: DeliveryRecord): Attributes {
  return { 'webhook.dead_letter': deadLetter, ...nameLabel(eventName, declared) };
}

/** Two receivers of one process add up, so they share their metrics. */
const byProvider = new WeakMap<MeterProvider, DeliveryMetrics>();

function metricsOf(provider: MeterProvider): DeliveryMetrics | undefined {
  const known = byProvider.get(provider);
  if (known) return known;
  const meter = provider.getMeter(SCOPE);
  if (meter === createNoopMeter()) return undefined;
  const made = new DeliveryMetrics(meter);
  byProvider.set(provider, made);
  return made;
}

/** The metrics in use, if any. Looked up on each call: instruments made before an SDK is registered never report. */
export function currentMetrics(given: MeterProvider | undefined): () => DeliveryMetrics | undefined {
  let last: MeterProvider | undefined;
  let current: DeliveryMetrics | undefined;
  return () => {
    const provider = given ?? metrics.getMeterProvider();
    if (provider !== last) {
      current = metricsOf(provider);
      last = provider;
    }
    return current;
  };
}
