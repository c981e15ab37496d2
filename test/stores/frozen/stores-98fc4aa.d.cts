// What the frozen bundle exports: the stores of 98fc4aa, called as those of today.
export { postgresDeadLetters, postgresStore } from '../../../src/stores/postgres.js';
export { redisDeadLetters, redisStore } from '../../../src/stores/redis.js';
export { sqlDeadLetters, sqlStore } from '../../../src/stores/sql.js';
