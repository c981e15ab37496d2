// What the frozen bundle of the last 0.1.0 exports, called as today's.
export { receiver } from '../../src/index.js';
export * as bullmq from '../../src/queues/bullmq.js';
export * as boss from '../../src/queues/pg-boss.js';
export { startSimulator } from '../../src/simulator.js';
export { postgresDeadLetters, postgresStore } from '../../src/stores/postgres.js';
export { redisDeadLetters, redisStore } from '../../src/stores/redis.js';
export { sqlDeadLetters, sqlStore } from '../../src/stores/sql.js';
