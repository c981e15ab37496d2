// A RabbitMQ or NATS for one file of tests, with a database, and what the examples of queues find in their environment.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import { Pool } from 'pg';
import { type Service, startNats, startRabbitmq } from './services.js';

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

/** To be read in tests and later hooks: it runs from before the first test to after the last. */
export function ownBroker(name: keyof typeof BROKERS, privateKey: string): OwnBroker {
  const url = process.env.TEST_POSTGRES_URL ?? '';
  const database = `queue_${randomBytes(6).toString('hex')}`;
  const { start, variable } = BROKERS[name];
  let server: Service | undefined;
  let admin: Pool | undefined;
  let pool: Pool | undefined;

  beforeAll(async () => {
    server = await start();
    process.env[variable] = server.url;
    process.env.SERVICE_PRIVATE_KEY = privateKey;
    admin = new Pool({ connectionString: url, max: 1 });
    await admin.query(`CREATE DATABASE ${database}`);
    process.env.DATABASE_URL = Object.assign(new URL(url), { pathname: database }).href;
    pool = new Pool({ connectionString: process.env.DATABASE_URL, max: 4 }).on('error', () => {});
    await pool.query('CREATE TABLE queue_ledger (line text NOT NULL)');
  }, 90_000);

  afterAll(async () => {
    await pool?.end();
    await admin?.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
    await admin?.end();
    await server?.stop();
  }, 60_000);

  const running = (): Pool => {
    if (!pool) throw new Error('The broker has not been started yet.');
    return pool;
  };
  return {
    get pool() {
      return running();
    },
    async orders() {
      const { rows } = await running().query<{ line: string }>('SELECT line FROM queue_ledger');
      return rows.map(({ line }) => line.slice(0, line.indexOf(' ')));
    },
  };
}
