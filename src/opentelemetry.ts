// DOOR "./opentelemetry": spans and metrics of every delivery, for a registered OpenTelemetry SDK.
export {
  type ObserveDeadLettersOptions,
  type ObservedReceiver,
  observeDeadLetters,
} from './opentelemetry/dead-letter-metrics.js';
export { type OpenTelemetryOptions, openTelemetry } from './opentelemetry/open-telemetry.js';
