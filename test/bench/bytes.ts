// `npm run bench:bytes`: what a remembered id takes in each store. Starts its own Redis and Postgres.
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { postgresStore } from '../../src/stores/postgres.js';
import { startPostgres, startRedis } from '../setup/services.js';
import { memoryBytes, postgresBytes, REMEMBERED, redisBytes } from './remembered.js';

const print = (what: string, bytes: number) => console.log(`${what}: ${Math.round(bytes)} bytes for each id`);

print(`memory, after ${10 * REMEMBERED} ids through ${REMEMBERED} entries`, await memoryBytes());

const redis = await startRedis();
const client = new Redis(redis.url);
try {
  print('Redis', await redisBytes(client));
} finally {
  client.disconnect();
  await redis.stop();
}

const postgres = await startPostgres();
const pool = new Pool({ connectionString: postgres.url, max: 20 });
try {
  await postgresStore({ pool }).migrate();
  const { written, compacted } = await postgresBytes(pool);
  print('Postgres, with indexes, as written', written);
  print('Postgres, with indexes, after VACUUM FULL', compacted);
} finally {
  await pool.end();
  await postgres.stop();
}
