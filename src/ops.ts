// DOOR "./ops": what the people see who run a receiver: whether it is well.
export { health, type WatchedReceiver } from './ops/health.js';
export type { HealthCheck, HealthReport } from './ops/health-checks.js';
export type { HealthOptions } from './ops/health-options.js';
