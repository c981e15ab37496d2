// How the workers of a campaign reach Redis: each client as docs/stores.md says, with its own defaults.
import { Cluster, Redis } from 'ioredis';
import type { SendCommand } from 'payment-webhooks/stores/redis';
import { createCluster, createSentinel } from 'redis';

export type RedisClient =
  | 'redis cluster'
  | 'ioredis cluster'
  | 'redis sentinel'
  | 'ioredis sentinel'
  | 'ioredis sentinel with failoverDetector'
  | 'ioredis sentinel with WAIT';

const HOST = '127.0.0.1';
const MASTER = 'main';
const WAIT_MS = '500';
const noListener = () => {};

type Connect = (ports: readonly number[]) => Promise<SendCommand>;

const CONNECT: Record<RedisClient, Connect> = {
  'ioredis cluster': async (ports) => {
    const client = new Cluster(ports.map((port) => ({ host: HOST, port }))).on('error', noListener);
    return (...args) => client.call(...args);
  },
  'redis cluster': async (ports) => {
    const rootNodes = ports.map((port) => ({ url: `redis://${HOST}:${port}` }));
    const cluster = await createCluster({ rootNodes }).on('error', noListener).connect();
    return (...args) => cluster.sendCommand(args[3], false, args);
  },
  'ioredis sentinel': async (ports) => {
    const client = new Redis({ ...sentinelsOf(ports), name: MASTER }).on('error', noListener);
    return (...args) => client.call(...args);
  },
  'ioredis sentinel with failoverDetector': async (ports) => {
    const options = { ...sentinelsOf(ports), name: MASTER, failoverDetector: true };
    const client = new Redis(options).on('error', noListener);
    return (...args) => client.call(...args);
  },
  'redis sentinel': async (ports) => {
    const sentinelRootNodes = sentinelsOf(ports).sentinels;
    const sentinel = createSentinel({ name: MASTER, sentinelRootNodes }).on('error', noListener);
    await sentinel.connect();
    return (...args) => sentinel.sendCommand(false, args);
  },
  'ioredis sentinel with WAIT': async (ports) => {
    // WAIT speaks of its own connection: neither may be sent again on another.
    const once = { autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0, enableOfflineQueue: false };
    const client = new Redis({ ...sentinelsOf(ports), name: MASTER, ...once }).on('error', noListener);
    return async (...args) => {
      const [reply, replicas] = await Promise.all([client.call(...args), client.call('WAIT', '1', WAIT_MS)]);
      if (Number(replicas) < 1) throw new Error('No replica has it.');
      return reply;
    };
  },
};

export function connectRedis(client: RedisClient, ports: readonly number[]): Promise<SendCommand> {
  return CONNECT[client](ports);
}

function sentinelsOf(ports: readonly number[]) {
  return { sentinels: ports.map((port) => ({ host: HOST, port })) };
}
