// A Redis for one file of tests, and what an example finds in its environment.
import { afterAll, beforeAll } from '@jest/globals';
import { Redis } from 'ioredis';
import { needing } from './platform.js';
import { type Service, startRedis } from './services.js';

/** Skips where the run has no Redis. */
export const withRedis = needing('redis-server').describe;

export interface OwnRedis {
  readonly server: Service;
  readonly client: Redis;
}

/** To be read in tests and later hooks: it runs from before the first test to after the last. */
export function ownRedis(privateKey: string): OwnRedis {
  let server: Service | undefined;
  let client: Redis | undefined;

  beforeAll(async () => {
    server = await startRedis();
    client = new Redis(server.url).on('error', () => {});
    process.env.REDIS_URL = server.url;
    process.env.SERVICE_PRIVATE_KEY = privateKey;
  }, 90_000);

  afterAll(async () => {
    client?.disconnect();
    await server?.stop();
  });

  const running = <Thing>(thing: Thing | undefined): Thing => {
    if (!thing) throw new Error('Redis has not been started yet.');
    return thing;
  };
  return {
    get server() {
      return running(server);
    },
    get client() {
      return running(client);
    },
  };
}
