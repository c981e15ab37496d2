// The metrics of all receivers that report to one meter provider. Their labels are closed sets, whatever a sender invents.
import {
  type Attributes,
  type Counter,
  createNoopMeter,
  type Histogram,
  type Meter,
  type MeterProvider,
  metrics,
} from '@opentelemetry/api';
import type { DeliveryRecord, Observer } from '../observer.js';
import { InFlight } from './in-flight.js';
import { SCOPE } from './scope.js';

type Handled = Parameters<NonNullable<Observer['handler']>>[0];

/** What OpenTelemetry calls a value outside of a known set. */
const OTHER = '_OTHER';

/** Seconds. Up to the largest `timeout` that is likely; handlers may go on until `maxHandlerTime`. */
const DELIVERY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const HANDLER_SECONDS = [...DELIVERY_SECONDS, 60, 120, 300];
const STORE_SECONDS = [0.0005, ...DELIVERY_SECONDS.slice(0, 11)];

export class Measures {
  readonly #inFlight = new InFlight();
  readonly #deliveries: Counter;
  readonly #deliveryDuration: Histogram;
  readonly #handlerDuration: Histogram;
  readonly #storeDuration: Histogram;

  constructor(meter: Meter) {
    this.#deliveries = meter.createCounter('webhook.deliveries', {
      unit: '{delivery}',
      description: 'Deliveries by what became of them.',
    });
    this.#deliveryDuration = seconds(meter, 'webhook.delivery.duration', {
      description: 'From the first look at a delivery to its answer.',
      buckets: DELIVERY_SECONDS,
    });
    this.#handlerDuration = seconds(meter, 'webhook.handler.duration', {
      description: 'From the call of a handler until it has settled.',
      buckets: HANDLER_SECONDS,
    });
    this.#storeDuration = seconds(meter, 'webhook.store.duration', {
      description: 'What a delivery has waited for the store.',
      buckets: STORE_SECONDS,
    });
    meter
      .createObservableUpDownCounter('webhook.in_flight', {
        unit: '{delivery}',
        description: 'Deliveries that are not answered yet, or whose handlers still run.',
      })
      .addCallback((result) => result.observe(this.#inFlight.count));
    meter
      .createObservableGauge('webhook.in_progress.age', {
        unit: 's',
        description: 'Since when the oldest handler that has not settled is running.',
      })
      .addCallback((result) => result.observe(this.#inFlight.oldestMs / 1_000));
  }

  async delivery<T>(work: () => Promise<T>): Promise<T> {
    this.#inFlight.enter();
    try {
      return await work();
    } finally {
      this.#inFlight.leave();
    }
  }

  async handler<T>({ event, name }: Handled, work: () => Promise<T>): Promise<T> {
    const run = this.#inFlight.begin(event.id);
    let status = 'rejected';
    try {
      const value = await work();
      status = 'fulfilled';
      return value;
    } finally {
      this.#handlerDuration.record(this.#inFlight.end(run) / 1_000, {
        'webhook.handler.name': name,
        'webhook.handler.status': status,
      });
    }
  }

  settled(record: DeliveryRecord): void {
    const attributes = labelsOf(record);
    this.#deliveries.add(1, attributes);
    this.#deliveryDuration.record(record.durationMs / 1_000, attributes);
    if (record.storeMs !== undefined) this.#storeDuration.record(record.storeMs / 1_000);
    if (record.eventId !== undefined && record.handlers.some(({ status }) => status === 'running'))
      this.#inFlight.answered(record.eventId);
  }
}

function seconds(meter: Meter, name: string, more: { description: string; buckets: number[] }): Histogram {
  const { description, buckets } = more;
  return meter.createHistogram(name, {
    unit: 's',
    description,
    advice: { explicitBucketBoundaries: buckets },
  });
}

function labelsOf({ eventName, declared, outcome, code, status }: DeliveryRecord): Attributes {
  return {
    ...(eventName !== undefined && { 'webhook.event.name': declared ? eventName : OTHER }),
    ...(outcome && { 'webhook.outcome': outcome }),
    ...(code && { 'webhook.code': code }),
    ...(status && { 'http.response.status_code': status }),
  };
}

/** Two receivers of one process are to add up, so they share what is counted. */
const byProvider = new WeakMap<MeterProvider, Measures>();

function measuresOf(provider: MeterProvider): Measures | undefined {
  const known = byProvider.get(provider);
  if (known) return known;
  const meter = provider.getMeter(SCOPE);
  if (meter === createNoopMeter()) return undefined;
  const measures = new Measures(meter);
  byProvider.set(provider, measures);
  return measures;
}

/** What to measure with, if anything: instruments that are made before an SDK is registered stay dead. */
export function currentMeasures(given: MeterProvider | undefined): () => Measures | undefined {
  let last: MeterProvider | undefined;
  let measures: Measures | undefined;
  return () => {
    const provider = given ?? metrics.getMeterProvider();
    if (provider !== last) {
      measures = measuresOf(provider);
      last = provider;
    }
    return measures;
  };
}
