// An observer that reports deliveries and handlers to OpenTelemetry.
import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import { ConfigurationError } from '../errors.js';
import { refuseUnknownOptions, show } from '../misuse.js';
import type { Observer } from '../observer.js';
import { currentMetrics } from './metrics.js';
import { Spans } from './spans.js';

export interface OpenTelemetryOptions {
  /** @default the globally registered one */
  readonly tracerProvider?: TracerProvider | undefined;
  /** @default the globally registered one */
  readonly meterProvider?: MeterProvider | undefined;
}

/**
 * An `observer` for the receiver: a span for each delivery and each handler, and the metrics `webhook.*`. Without an
 * SDK it does nothing. Register the SDK before the first delivery.
 *
 * @throws {ConfigurationError} for an invalid provider or an unknown option
 * @example
 * app.post('/hooks', receiver({ observer: openTelemetry() }));
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Observer {
  checkOptions(options);
  const spans = new Spans(options.tracerProvider);
  const metrics = () => currentMetrics(options.meterProvider);
  const observer: Required<Observer> = {
    around(_delivery, work) {
      const current = metrics();
      return spans.delivery(current ? () => current.delivery(work) : work);
    },
    handler(handler, work) {
      const current = metrics();
      return spans.handler(handler, current ? () => current.handler(handler, work) : work);
    },
    settled(record) {
      spans.settled(record);
      metrics()?.settled(record);
    },
    exhausted(letter) {
      metrics()?.exhausted(letter);
    },
  };
  return whileRegistered(observer, () => Boolean(spans.tracer ?? metrics()));
}

/**
 * An observer without methods while no SDK is registered. Methods that do nothing would cost 8 to 11 µs per delivery, a
 * tenth of its time: the receiver wraps them in promises, and makes a record for them.
 */
function whileRegistered(observer: Required<Observer>, isRegistered: () => boolean): Observer {
  const applies = () => {
    try {
      return isRegistered();
    } catch {
      // The method throws this error again, where the receiver catches it.
      return true;
    }
  };
  const names = ['around', 'handler', 'settled', 'exhausted'] as const satisfies (keyof Observer)[];
  const getters = names.map((name) => [
    name,
    { enumerable: true, get: () => (applies() ? observer[name] : undefined) },
  ]);
  return Object.defineProperties({}, Object.fromEntries(getters));
}

function checkOptions(options: OpenTelemetryOptions): void {
  if (typeof options !== 'object' || options === null) {
    throw new ConfigurationError(
      `openTelemetry() was given ${show(options)}. Pass an object of options, or nothing.`,
    );
  }
  refuseUnknownOptions(options, ['tracerProvider', 'meterProvider']);
  checkProvider('tracerProvider', options.tracerProvider, 'getTracer');
  checkProvider('meterProvider', options.meterProvider, 'getMeter');
}

/** @throws {ConfigurationError} if the provider has no such method */
export function checkProvider(option: string, provider: unknown, method: string): void {
  if (provider === undefined) return;
  if (typeof (provider as Record<string, unknown> | null)?.[method] === 'function') return;
  throw new ConfigurationError(`${option} is ${show(provider)}. Pass an object with ${method}().`);
}
