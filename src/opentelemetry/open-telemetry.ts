// An observer that tells OpenTelemetry of every delivery and every handler.
import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import { ConfigurationError } from '../errors.js';
import type { Observer } from '../observer.js';
import { show } from '../option-checks.js';
import { refuseUnknownOptions } from '../unknown-option.js';
import { currentMeasures } from './measures.js';
import { Spans } from './spans.js';

export interface OpenTelemetryOptions {
  /** @default the one that is registered globally */
  readonly tracerProvider?: TracerProvider | undefined;
  /** @default the one that is registered globally */
  readonly meterProvider?: MeterProvider | undefined;
}

/**
 * An `observer` for the receiver: a span for each delivery and each handler, and the metrics `webhook.*`. Without an
 * SDK it does nothing; the SDK may be registered before or after, as long as that is before the first delivery.
 *
 * @throws {ConfigurationError} for a provider that is none
 * @example
 * app.post('/hooks', receiver({ observer: openTelemetry() }));
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Observer {
  refuseWrong(options);
  const spans = new Spans(options.tracerProvider);
  const measures = currentMeasures(options.meterProvider);
  const observer: Required<Observer> = {
    around(_delivery, work) {
      const measure = measures();
      return spans.delivery(measure ? () => measure.delivery(work) : work);
    },
    handler(handler, work) {
      const measure = measures();
      return spans.handler(handler, measure ? () => measure.handler(handler, work) : work);
    },
    settled(record) {
      spans.settled(record);
      measures()?.settled(record);
    },
  };
  return whenHeard(observer, () => Boolean(spans.tracer ?? measures()));
}

/**
 * Has no functions while nobody hears them. Calling them to find that out would cost 8 to 11 µs a delivery, a tenth
 * of the whole: it is wrapped in promises, and a record is made of it.
 */
function whenHeard({ around, handler, settled }: Required<Observer>, heard: () => boolean): Observer {
  const orNothing = <Method>(method: Method): Method | undefined => {
    try {
      return heard() ? method : undefined;
    } catch {
      // It throws again where the receiver catches it.
      return method;
    }
  };
  return {
    get around() {
      return orNothing(around);
    },
    get handler() {
      return orNothing(handler);
    },
    get settled() {
      return orNothing(settled);
    },
  } as Observer;
}

function refuseWrong(options: OpenTelemetryOptions): void {
  if (typeof options !== 'object' || options === null) {
    throw new ConfigurationError(
      `openTelemetry() was given ${show(options)}; give an object of options, or nothing.`,
    );
  }
  refuseUnknownOptions(options, ['tracerProvider', 'meterProvider']);
  refuseWrongProvider('tracerProvider', options.tracerProvider, 'getTracer');
  refuseWrongProvider('meterProvider', options.meterProvider, 'getMeter');
}

function refuseWrongProvider(option: string, provider: unknown, method: string): void {
  if (provider === undefined) return;
  if (typeof (provider as Record<string, unknown> | null)?.[method] === 'function') return;
  throw new ConfigurationError(`${option} is ${show(provider)}; give an object with ${method}().`);
}
