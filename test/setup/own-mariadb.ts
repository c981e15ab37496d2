// A MariaDB for one file of tests, and connections to it.
import { createPool, type Pool, type PoolOptions } from 'mysql2/promise';
import { forThisFile } from './for-this-file.js';
import { needing } from './platform.js';
import { type Service, startMariadb } from './services.js';

/** Skips where the run has no MariaDB. */
export const withMariadb = needing('mariadbd').describe;

export interface OwnMariadb {
  readonly server: Service;
  /** A pool that is ended after the last test. */
  pool(options?: PoolOptions): Pool;
}

/** To be read in tests and later hooks. */
export function ownMariadb(settings: readonly string[] = []): OwnMariadb {
  const pools: Pool[] = [];
  const own = forThisFile(
    () => startMariadb(settings),
    async (server) => {
      for (const pool of pools) await pool.end().catch(() => {});
      await server.stop();
    },
  );
  return {
    get server() {
      return own();
    },
    pool: (options = {}) => {
      const pool = createPool({ uri: own().url, connectionLimit: 10, ...options });
      pools.push(pool);
      return pool;
    },
  };
}
