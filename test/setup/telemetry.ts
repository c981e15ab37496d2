// The real SDK of OpenTelemetry, registered for one test, with everything that it would export kept in memory.
import { afterEach } from '@jest/globals';
import {
  type Attributes,
  context,
  type MeterProvider as Meters,
  metrics,
  propagation,
  SpanKind,
  trace,
} from '@opentelemetry/api';
import { type DataPoint, type Histogram, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import type { RequestHandler } from 'express';

afterEach(() => {
  trace.disable();
  context.disable();
  propagation.disable();
  metrics.disable();
});

export interface Traces {
  readonly provider: NodeTracerProvider;
  /** Those that have ended, in that order. */
  readonly spans: ReadableSpan[];
  /** The one of that name; there has to be just one. */
  span(name: string): ReadableSpan;
}

/** Not registered: for a provider that is given as an option. */
export function makeTraces(): Traces {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  return {
    provider,
    get spans() {
      return exporter.getFinishedSpans();
    },
    span(name) {
      const [span, ...more] = exporter.getFinishedSpans().filter((one) => one.name === name);
      if (!span || more.length > 0)
        throw new Error(`${more.length + Number(!!span)} spans are named ${name}`);
      return span;
    },
  };
}

export function registerTraces(): Traces {
  const traces = makeTraces();
  traces.provider.register();
  return traces;
}

/** A span as the instrumentation of `node:http` makes it, for the time of a request. */
export const serverSpan: RequestHandler = (_request, response, next) => {
  trace.getTracer('http').startActiveSpan('POST /hooks', { kind: SpanKind.SERVER }, (span) => {
    response.on('finish', () => span.end());
    next();
  });
};

export interface Point {
  readonly attributes: Attributes;
  readonly value: number | Histogram;
}

export interface Measured {
  readonly provider: Meters;
  /** The points of a metric as they are now. */
  points(name: string): Promise<Point[]>;
  /** The only point of a metric without attributes. */
  value(name: string): Promise<number>;
  /** Everything, as it would be exported. */
  all(): Promise<MetricData[]>;
}

type MetricData = Awaited<
  ReturnType<MetricReader['collect']>
>['resourceMetrics']['scopeMetrics'][number]['metrics'][number];

class OnDemand extends MetricReader {
  protected override async onForceFlush() {}
  protected override async onShutdown() {}
}

/** Not registered: for a provider that is given as an option. */
export function makeMetrics(): Measured {
  const reader = new OnDemand();
  const provider = new MeterProvider({ readers: [reader] });
  const all = async () =>
    (await reader.collect()).resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
  const points = async (name: string) => {
    const metric = (await all()).find(({ descriptor }) => descriptor.name === name);
    return ((metric?.dataPoints ?? []) as DataPoint<number | Histogram>[]).map(({ attributes, value }) => ({
      attributes,
      value,
    }));
  };
  const value = async (name: string) => {
    const [point, ...more] = await points(name);
    if (more.length > 0) throw new Error(`${name} has ${more.length + 1} points`);
    return point?.value as number;
  };
  return { provider, all, points, value };
}

export function registerMetrics(): Measured {
  const measured = makeMetrics();
  metrics.setGlobalMeterProvider(measured.provider);
  return measured;
}
