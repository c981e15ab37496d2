// The clients of Redis that users have, on the Redis of the run and on a cluster of three nodes.
import { afterAll, beforeAll } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import type { SendCommand } from 'payment-webhooks/stores/redis';
import { createClient, createCluster } from 'redis';
import { startRedisCluster } from './services.js';

/** To be read in tests and later hooks. @param prefix of the keys that are deleted after the last test */
export function redisClients(prefix: string) {
  const url = process.env.TEST_REDIS_URL ?? '';
  const node = createClient({ url });
  const io = new Redis(url, { lazyConnect: true });
  const clients: Record<string, SendCommand> = {
    redis: (...args) => node.sendCommand(args),
    ioredis: (...args) => io.call(...args),
    'ioredis, with Buffers for replies': (...args) => io.callBuffer(...args),
  };
  beforeAll(() => Promise.all([node.connect(), io.connect()]));
  afterAll(async () => {
    const left = await io.keys(`${prefix}*`);
    if (left.length > 0) await io.del(left);
    await Promise.all([node.close(), io.quit()]);
  });
  return { io, clients };
}

/** To be read in tests and later hooks: it runs from before the first test to after the last. */
export function clusterClients() {
  let nodes: Awaited<ReturnType<typeof startRedisCluster>>;
  let io: Cluster;
  let node: ReturnType<typeof createCluster>;
  const clients: Record<string, SendCommand> = {
    redis: (...args) => node.sendCommand(args[3], false, args),
    ioredis: (...args) => io.call(...args),
  };
  beforeAll(async () => {
    nodes = await startRedisCluster();
    io = new Cluster(nodes.ports.map((port) => ({ host: '127.0.0.1', port })));
    node = createCluster({ rootNodes: nodes.ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })) });
    await node.connect();
  }, 60_000);
  afterAll(async () => {
    io?.disconnect();
    node?.destroy();
    await nodes?.stop();
  });
  return {
    get io() {
      return io;
    },
    clients,
  };
}
