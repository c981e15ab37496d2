// DOOR "./ops": the dead-letter page and health checks, for the people who run a receiver.

export { health, type WatchedReceiver } from './ops/health.js';
export type { HealthCheck, HealthReport } from './ops/health-checks.js';
export type { HealthOptions } from './ops/health-options.js';
export { deadLetterPage } from './tools/letters/server/dead-letter-page.js';
export type {
  Authorize,
  DeadLetterPageOptions,
  PageReceiver,
  PageUser,
} from './tools/letters/server/page-options.js';
