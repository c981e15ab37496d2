// The metrics of all receivers with one meter provider. Every label has a bounded set of values.
import {
  type Attributes,
  type Counter,
  createNoopMeter,
  type Histogram,
  type Meter,
  type MeterProvider,
  metrics,
} from '@opentelemetry/api';
import { BATCHES, type DeliveryRecord, type ExhaustedLetter, type StoreBatch } from '../observer.js';
import { type HandlerCall, SCOPE } from './spans.js';

/** The value that OpenTelemetry defines for anything outside a known set. */
const OTHER = '_OTHER';

/** Seconds, up to the largest `timeout` to expect. Handlers may run until `maxHandlerTime`. */
const DELIVERY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const HANDLER_SECONDS = [...DELIVERY_SECONDS, 60, 120, 300];
const STORE_SECONDS = [0.0005, ...DELIVERY_SECONDS.slice(0, 11)];

/** A handler that has not settled. */
interface RunningHandler {
  readonly eventId: string;
  readonly startedAt: number;
  /** Whether its delivery was answered before it settled. */
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
      description: 'Deliveries by outcome.',
    });
    this.#lettersKept = meter.createCounter('webhook.dead_letters.kept', {
      unit: '{delivery}',
      description: 'Deliveries whose event was kept as a dead letter, or was one already.',
    });
    this.#lettersExhausted = meter.createCounter('webhook.dead_letters.exhausted', {
      unit: '{letter}',
      description: 'Dead letters whose last automatic retry failed.',
    });
    const fromArrival = 'From the arrival of a delivery to its answer.';
    this.#deliveryDuration = histogram('webhook.delivery.duration', fromArrival, DELIVERY_SECONDS);
    const fromCall = 'From the call of a handler until it settles.';
    this.#handlerDuration = histogram('webhook.handler.duration', fromCall, HANDLER_SECONDS);
    const waited = 'How long a delivery waited for the store.';
    this.#storeDuration = histogram('webhook.store.duration', waited, STORE_SECONDS);
    const batches = meter.createHistogram('webhook.store.batch.size', {
      unit: '{call}',
      description: 'How many calls of deliveries shared a statement of a SQL store.',
      advice: { explicitBucketBoundaries: [1, 2, 4, 8, 16, 32, 64, 128, 200] },
    });
    BATCHES.subscribe((batch) => {
      const { step, size } = batch as StoreBatch;
      batches.record(size, { 'webhook.store.step': step });
    });
    meter
      .createObservableUpDownCounter('webhook.in_flight', {
        unit: '{delivery}',
        description: 'Deliveries that have no answer yet, or whose handlers still run.',
      })
      .addCallback((result) => result.observe(this.#inFlight()));
    meter
      .createObservableGauge('webhook.in_progress.age', {
        unit: 's',
        description: 'How long the oldest running handler has run.',
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
    const { deadLetter, eventName = '', declared } = record;
    if (deadLetter) this.#lettersKept.add(1, letterLabels(deadLetter, eventName, declared));
    this.#deliveryDuration.record(record.durationMs / 1_000, attributes);
    if (record.storeMs !== undefined) this.#storeDuration.record(record.storeMs / 1_000);
    // After `timeout` a delivery is answered, but it stays in flight until its handlers settle.
    if (record.handlers.some(({ status }) => status === 'running'))
      for (const run of this.#running) if (run.eventId === record.eventId) run.outlives = true;
  }

  exhausted({ reason, eventName, declared }: ExhaustedLetter): void {
    this.#lettersExhausted.add(1, letterLabels(reason, eventName, declared));
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

/** There may be any number of undeclared names, so they share one label. */
function nameLabel(eventName: string, declared: boolean | undefined): Attributes {
  return { 'webhook.event.name': declared ? eventName : OTHER };
}

export function letterLabels(reason: string, eventName: string, declared: boolean | undefined): Attributes {
  return { 'webhook.dead_letter': reason, ...nameLabel(eventName, declared) };
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

/** Receivers of one process share their metrics, so that their values add up. */
const byProvider = new WeakMap<MeterProvider, DeliveryMetrics>();

/** Looked up for each call, because instruments made before an SDK is registered never report. */
export function currentMetrics(given: MeterProvider | undefined): DeliveryMetrics | undefined {
  const provider = given ?? metrics.getMeterProvider();
  const known = byProvider.get(provider);
  if (known) return known;
  const meter = provider.getMeter(SCOPE);
  if (meter === createNoopMeter()) return undefined;
  const made = new DeliveryMetrics(meter);
  byProvider.set(provider, made);
  return made;
}
