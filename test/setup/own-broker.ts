// A RabbitMQ or NATS for one file of tests, with a database, and what the examples of queues find in their environment.
import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { forThisFile } from './for-this-file.js';
import { quietPool } from './quiet-pool.js';
import { startNats, startRabbitmq } from './services.js';

/** By the name of the example. */
export const BROKERS = {
  rabbitmq: { program: 'rabbitmq-server', variable: 'RABBITMQ_URL', start: startRabbitmq },
  nats: { program: 'nats-server', variable: 'NATS_URL', start: startNats },
} as const;

export interface OwnBroker {
  readonly pool: Pool;
  /** The orders that handlers have written, in that order. */
  orders(): Promise<string[]>;
}

/** To be read in tests and later hooks. */
export function ownBroker(name: keyof typeof BROKERS, privateKey: string): OwnBroker {
  const url = process.env.TEST_POSTGRES_URL ?? '';
  const database = `queue_${randomBytes(6).toString('hex')}`;
  const { start, variable } = BROKERS[name];
  const own = forThisFile(
    async () => {
      const server = await start();
      process.env[variable] = server.url;
      process.env.SERVICE_PRIVATE_KEY = privateKey;
      const admin = quietPool(url);
      await admin.query(`CREATE DATABASE ${database}`);
      process.env.DATABASE_URL = Object.assign(new URL(url), { pathname: database }).href;
      const pool = quietPool(process.env.DATABASE_URL, 4);
      await pool.query('CREATE TABLE queue_ledger (line text NOT NULL)');
      return { server, admin, pool };
    },
    async ({ server, admin, pool }) => {
      await pool.end();
      await admin.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
      await admin.end();
      await server.stop();
    },
  );
  return {
    get pool() {
      return own().pool;
    },
    async orders() {
      const { rows } = await own().pool.query<{ line: string }>('SELECT line FROM queue_ledger');
      return rows.map(({ line }) => line.slice(0, line.indexOf(' ')));
    },
  };
}
