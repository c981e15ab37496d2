// What the compiler knows of `payment-webhooks/opentelemetry`: checked by `npm run typecheck`, never run.
import { metrics, trace } from '@opentelemetry/api';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { memoryDeadLetters, type Observer, receiver } from 'payment-webhooks';
import { type OpenTelemetryOptions, observeDeadLetters, openTelemetry } from 'payment-webhooks/opentelemetry';
import { z } from 'zod';

// It is an observer, and fits wherever one does.
const observer: Observer = openTelemetry();
receiver({ observer });
receiver({ observer: openTelemetry({ tracerProvider: undefined }) });

// Providers of the API and of the SDK fit.
openTelemetry({ tracerProvider: trace.getTracerProvider(), meterProvider: metrics.getMeterProvider() });
openTelemetry({ tracerProvider: new NodeTracerProvider(), meterProvider: new MeterProvider() });

// Of a receiver that has dead letters, whatever its events.
const events = { 'refund.succeeded': z.object({}) };
const stop: () => void = observeDeadLetters(receiver({ events, deadLetters: memoryDeadLetters() }));
stop();
observeDeadLetters(receiver({ deadLetters: memoryDeadLetters() }), { meterProvider: new MeterProvider() });
// @ts-expect-error: it has none
observeDeadLetters(receiver({}));

// @ts-expect-error: a tracer is no provider of tracers
openTelemetry({ tracerProvider: trace.getTracer('shop') });
// @ts-expect-error: there is no such option
openTelemetry({ serviceName: 'shop' });

const options: OpenTelemetryOptions = {};
// @ts-expect-error: options are not changed once they are given
options.meterProvider = undefined;
