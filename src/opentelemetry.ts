// DOOR "./opentelemetry": spans and metrics of every delivery, for a registered OpenTelemetry SDK.
export type { Observer } from './observer.js';
export {
  type CountedLetters,
  type ObserveDeadLettersOptions,
  type ObservedReceiver,
  observeDeadLetters,
} from './opentelemetry/dead-letter-metrics.js';
export { type OpenTelemetryOptions, openTelemetry } from './opentelemetry/open-telemetry.js';
