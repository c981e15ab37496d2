// What the frozen bundle of the first 0.1.0 exports, called as today's: it had no dead letters, no sqlStore() and no pg-boss.
export { receiver } from '../../src/index.js';
export * as bullmq from '../../src/queues/bullmq.js';
export { startSimulator } from '../../src/simulator.js';
export { postgresStore } from '../../src/stores/postgres.js';
export { redisStore } from '../../src/stores/redis.js';
