// DOOR "./opentelemetry": spans and metrics of every delivery, for a registered OpenTelemetry SDK.
export { type OpenTelemetryOptions, openTelemetry } from './opentelemetry/open-telemetry.js';
