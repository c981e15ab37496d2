// What the compiler knows of `payment-webhooks/opentelemetry`: checked by `npm run typecheck`, never run.
import { metrics, trace } from '@opentelemetry/api';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { type Observer, receiver } from 'payment-webhooks';
import { type OpenTelemetryOptions, openTelemetry } from 'payment-webhooks/opentelemetry';

// It is an observer, and fits wherever one does.
const observer: Observer = openTelemetry();
receiver({ observer });
receiver({ observer: openTelemetry({ tracerProvider: undefined }) });

// Providers of the API and of the SDK fit.
openTelemetry({ tracerProvider: trace.getTracerProvider(), meterProvider: metrics.getMeterProvider() });
openTelemetry({ tracerProvider: new NodeTracerProvider(), meterProvider: new MeterProvider() });

// @ts-expect-error: a tracer is no provider of tracers
openTelemetry({ tracerProvider: trace.getTracer('shop') });
// @ts-expect-error: there is no such option
openTelemetry({ serviceName: 'shop' });

const options: OpenTelemetryOptions = {};
// @ts-expect-error: options are not changed once they are given
options.meterProvider = undefined;
