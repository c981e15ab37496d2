// The spans: one for each delivery, with a child for each handler.
import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  ProxyTracerProvider,
  type Span,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import { objectionOf } from '../deliveries/verdict.js';
import { ANSWERS } from '../errors.js';
import { describeError, shorten } from '../logger.js';
import type { DeliveryRecord, Observer } from '../observer.js';

/** The instrumentation scope of all spans and metrics. */
export const SCOPE = 'payment-webhooks';

/** A call of a handler, as observers get it. */
export type HandlerCall = Parameters<NonNullable<Observer['handler']>>[0];

/** Finds the span of the delivery, even if a handler has started other spans. */
const DELIVERY = createContextKey('payment-webhooks delivery');

export class Spans {
  readonly #given: TracerProvider | undefined;
  #provider: TracerProvider | undefined;
  #tracer: Tracer | undefined;

  constructor(given: TracerProvider | undefined) {
    this.#given = given;
  }

  /** Undefined while no SDK is registered. Another provider may be registered at any time. */
  get tracer(): Tracer | undefined {
    const provider = this.#given ?? trace.getTracerProvider();
    if (provider !== this.#provider) {
      this.#tracer = provider.getTracer(SCOPE);
      this.#provider = provider;
    }
    const isNoop = provider instanceof ProxyTracerProvider && provider.getDelegate() === NOOP_PROVIDER;
    return isNoop ? undefined : this.#tracer;
  }

  /** Its parent is the active span, such as that of the HTTP server. */
  delivery<T>(work: () => Promise<T>): Promise<T> {
    const span = this.tracer?.startSpan('webhook delivery');
    if (!span) return work();
    return inside(span, context.active().setValue(DELIVERY, span), work);
  }

  handler<T>({ event, name, attempt }: HandlerCall, work: () => Promise<T>): Promise<T> {
    const { tracer } = this;
    if (!tracer) return work();
    const attributes = {
      'messaging.message.id': shorten(event.id),
      'webhook.event.name': shorten(event.event_name),
      'webhook.handler.name': name,
      'webhook.attempt': attempt,
    };
    return inside(tracer.startSpan(`webhook handler ${name}`, { attributes }), context.active(), work);
  }

  settled(record: DeliveryRecord): void {
    const span = context.active().getValue(DELIVERY) as Span | undefined;
    if (!span?.isRecording()) return;
    span.setAttributes(attributesOf(record));
    if (record.declared) span.updateName(`webhook delivery ${record.eventName}`);
    // As for the span of an HTTP server: an error of the sender is not an error of this process, nor is a wait.
    if (record.code && record.verdict !== 'later' && ANSWERS[record.code].status >= 500)
      fail(span, record.code);
  }
}

/** The single no-op provider of the API, which does not export it. */
const NOOP_PROVIDER = new ProxyTracerProvider().getDelegate();

/** Ending a span may throw: the receiver catches that. */
async function inside<T>(span: Span, around: Context, work: () => Promise<T>): Promise<T> {
  try {
    return await context.with(trace.setSpan(around, span), work);
  } catch (error) {
    // Only the type: the message may quote a customer.
    if (span.isRecording() && objectionOf(error) !== 'later') fail(span, describeError(error).type);
    throw error;
  } finally {
    span.end();
  }
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
}

/** OpenTelemetry ignores an attribute whose value is undefined. */
function attributesOf(record: DeliveryRecord): Attributes {
  const { eventId, eventName, code, outcome, verdict, sandbox, attempt, keyIndex, conflict, deadLetter } =
    record;
  return {
    'messaging.message.id': eventId === undefined ? undefined : shorten(eventId),
    'messaging.message.body.size': record.bytes,
    'http.response.status_code': record.status || undefined,
    'webhook.event.name': eventName === undefined ? undefined : shorten(eventName),
    'webhook.outcome': outcome,
    'webhook.code': code,
    'webhook.verdict': verdict,
    'webhook.sandbox': sandbox,
    'webhook.attempt': attempt,
    'webhook.key_index': keyIndex,
    'webhook.conflict': conflict,
    'webhook.dead_letter': deadLetter,
  };
}
