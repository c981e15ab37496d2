// Runs an example with its own database, which it finds in its environment.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import { Pool } from 'pg';
import { needing } from '../setup/platform.js';

/** Skips where the run has no Postgres. */
export const withPostgres = needing('postgres').describe;

interface Steps<Example> {
  readonly load: () => Promise<Example>;
  readonly prepare: (example: Example) => Promise<unknown>;
  /** Ends what the example has started, other than its pool. */
  readonly end?: (example: Example) => unknown;
}

/** @returns the example, to be read in tests and later hooks: it is loaded before the first test */
export function onPostgres<Example extends { readonly pool: Pool }>(
  privateKey: string,
  { load, prepare, end }: Steps<Example>,
): () => Example {
  const url = process.env.TEST_POSTGRES_URL ?? '';
  const database = `example_${randomBytes(6).toString('hex')}`;
  const admin = new Pool({ connectionString: url, max: 1 });
  let example: Example | undefined;

  beforeAll(async () => {
    await admin.query(`CREATE DATABASE ${database}`);
    process.env.DATABASE_URL = Object.assign(new URL(url), { pathname: database }).href;
    process.env.SERVICE_PRIVATE_KEY = privateKey;
    example = await load();
    // A second is too short for a connection on a busy machine.
    example.pool.options.connectionTimeoutMillis = 20_000;
    await prepare(example);
  }, 90_000);

  afterAll(async () => {
    if (example) await end?.(example);
    await example?.pool.end();
    await admin.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
    await admin.end();
  });

  return () => {
    if (!example) throw new Error('The example has not been loaded yet.');
    return example;
  };
}

/** By two processes at the same moment. */
export const twice = ({ migrate }: { migrate(): Promise<void> }) => Promise.all([migrate(), migrate()]);
