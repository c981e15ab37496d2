// DOOR "./ops": what the people see who run a receiver: its dead letters, and whether it is well.
export { deadLetterPage } from './dead-letters/api/dead-letter-page.js';
export type { Authorize, DeadLetterPageOptions, PageUser } from './dead-letters/api/page-options.js';
export { health, type WatchedReceiver } from './ops/health.js';
export type { HealthCheck, HealthReport } from './ops/health-checks.js';
export type { HealthOptions } from './ops/health-options.js';
