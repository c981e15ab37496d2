// The spans: one for each delivery, and inside it one for each handler.
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
import { FAULTS } from '../errors.js';
import { describeError, shorten } from '../logger.js';
import type { DeliveryRecord, Observer } from '../observer.js';
import { SCOPE } from './scope.js';

type Handled = Parameters<NonNullable<Observer['handler']>>[0];

/** Where the span of a delivery is found again, whatever spans a handler has begun meanwhile. */
const DELIVERY = createContextKey('payment-webhooks delivery');

export class Spans {
  readonly #given: TracerProvider | undefined;
  #provider: TracerProvider | undefined;
  #tracer: Tracer | undefined;

  constructor(given: TracerProvider | undefined) {
    this.#given = given;
  }

  /** Undefined while nobody would see its spans. Another provider may be registered at any time. */
  get tracer(): Tracer | undefined {
    const provider = this.#given ?? trace.getTracerProvider();
    if (provider !== this.#provider) {
      this.#tracer = provider.getTracer(SCOPE);
      this.#provider = provider;
    }
    return leadsNowhere(provider) ? undefined : this.#tracer;
  }

  /** The parent is the span that is active here: that of the HTTP server. */
  delivery<T>(work: () => Promise<T>): Promise<T> {
    const span = this.tracer?.startSpan('webhook delivery');
    if (!span) return work();
    return inside(span, context.active().setValue(DELIVERY, span), work);
  }

  handler<T>({ event, name, attempt }: Handled, work: () => Promise<T>): Promise<T> {
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
    // As for the span of an HTTP server: what the sender did wrong is no error here.
    if (record.code && FAULTS[record.code].status >= 500) fail(span, record.code);
  }
}

/** What the API falls back on: there is one such object, and it has no name of its own. */
const NOWHERE = new ProxyTracerProvider().getDelegate();

function leadsNowhere(provider: TracerProvider): boolean {
  return provider instanceof ProxyTracerProvider && provider.getDelegate() === NOWHERE;
}

/** What ending a span throws is the receiver's to catch, so the promise goes back to it. */
async function inside<T>(span: Span, around: Context, work: () => Promise<T>): Promise<T> {
  try {
    return await context.with(trace.setSpan(around, span), work);
  } catch (error) {
    // Its message may quote a customer.
    if (span.isRecording()) fail(span, describeError(error).type);
    throw error;
  } finally {
    span.end();
  }
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
}

/** An attribute that is undefined is none. */
function attributesOf(record: DeliveryRecord): Attributes {
  const { eventId, eventName, code, outcome, sandbox, attempt, keyIndex, conflict } = record;
  return {
    'messaging.message.id': eventId === undefined ? undefined : shorten(eventId),
    'messaging.message.body.size': record.bytes,
    'http.response.status_code': record.status || undefined,
    'webhook.event.name': eventName === undefined ? undefined : shorten(eventName),
    'webhook.outcome': outcome,
    'webhook.code': code,
    'webhook.sandbox': sandbox,
    'webhook.attempt': attempt,
    'webhook.key_index': keyIndex,
    'webhook.conflict': conflict,
  };
}
