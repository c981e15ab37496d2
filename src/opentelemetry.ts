// The door to OpenTelemetry: spans and metrics of every delivery, where an SDK is registered.

export { type OpenTelemetryOptions, openTelemetry } from './opentelemetry/open-telemetry.js';
