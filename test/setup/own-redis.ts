// A Redis for one file of tests, and what an example finds in its environment.
import { Redis } from 'ioredis';
import { forThisFile } from './for-this-file.js';
import { needing } from './platform.js';
import { type Service, startRedis } from './services.js';

/** Skips where the run has no Redis. */
export const withRedis = needing('redis-server').describe;

export interface OwnRedis {
  readonly server: Service;
  readonly client: Redis;
}

/** To be read in tests and later hooks. */
export function ownRedis(privateKey: string): OwnRedis {
  const own = forThisFile(
    async () => {
      const server = await startRedis();
      process.env.REDIS_URL = server.url;
      process.env.SERVICE_PRIVATE_KEY = privateKey;
      return { server, client: new Redis(server.url).on('error', () => {}) };
    },
    ({ server, client }) => {
      client.disconnect();
      return server.stop();
    },
  );
  return {
    get server() {
      return own().server;
    },
    get client() {
      return own().client;
    },
  };
}
