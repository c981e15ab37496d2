// A MariaDB for one file of tests, and connections to it.
import { afterAll, beforeAll } from '@jest/globals';
import { createPool, type Pool, type PoolOptions } from 'mysql2/promise';
import { needing } from './platform.js';
import { type Service, startMariadb } from './services.js';

/** Skips where the run has no MariaDB. */
export const withMariadb = needing('mariadbd').describe;

export interface OwnMariadb {
  readonly server: Service;
  /** A pool that is ended after the last test. */
  pool(options?: PoolOptions): Pool;
}

/** To be read in tests and later hooks: it runs from before the first test to after the last. */
export function ownMariadb(settings: readonly string[] = []): OwnMariadb {
  let server: Service | undefined;
  const pools: Pool[] = [];

  beforeAll(async () => {
    server = await startMariadb(settings);
  }, 90_000);

  afterAll(async () => {
    for (const pool of pools) await pool.end().catch(() => {});
    await server?.stop();
  }, 60_000);

  const running = (): Service => {
    if (!server) throw new Error('MariaDB has not been started yet.');
    return server;
  };
  return {
    get server() {
      return running();
    },
    pool: (options = {}) => {
      const pool = createPool({ uri: running().url, connectionLimit: 10, ...options });
      pools.push(pool);
      return pool;
    },
  };
}
