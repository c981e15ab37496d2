// Registers the SDK: metrics for Prometheus to fetch, spans on the console. To be imported before anything else.
import { metrics } from '@opentelemetry/api';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { BatchSpanProcessor, ConsoleSpanExporter, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

// In production an exporter for your tracing backend, such as OTLPTraceExporter, instead of the console.
const traces = new NodeTracerProvider({
  spanProcessors: [new BatchSpanProcessor(new ConsoleSpanExporter())],
});
traces.register();

// Prometheus wants the unit in the name. The Collector adds it; this exporter leaves it to us.
const inSeconds = [
  'webhook.delivery.duration',
  'webhook.handler.duration',
  'webhook.store.duration',
  'webhook.in_progress.age',
  'webhook.dead_letters.age',
];
const prometheus = new PrometheusExporter({ preventServerStart: true, withoutScopeInfo: true });
const meters = new MeterProvider({
  readers: [prometheus],
  views: inSeconds.map((instrumentName) => ({ instrumentName, name: `${instrumentName}.seconds` })),
});
metrics.setGlobalMeterProvider(meters);

registerInstrumentations({
  instrumentations: [new HttpInstrumentation({ ignoreIncomingRequestHook: ({ url }) => url === '/metrics' })],
});

/** Answers what Prometheus asks for. */
export const scrape = prometheus.getMetricsRequestHandler.bind(prometheus);

/** Sends what has not been sent yet. */
export async function shutdown(): Promise<void> {
  await Promise.all([traces.shutdown(), meters.shutdown()]);
}
