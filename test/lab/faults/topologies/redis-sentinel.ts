// A Redis master with two replicas and three sentinels: the master killed, or suspended and back after the failover.
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startSentinel } from '../../../setup/services.js';
import type { Defer } from '../environment.js';
import { REDIS_PLAN, type TopologyCampaign } from './campaign.js';
import type { RedisClient } from './redis-clients.js';
import { type RedisNode, startNode, until } from './redis-node.js';

const SENTINEL_SETTINGS = ['down-after-milliseconds main 2000', 'failover-timeout main 5000'];
const SETTINGS = ['--appendonly', 'yes'];
const ONE_REPLICA = ['--min-replicas-to-write', '1', '--min-replicas-max-lag', '2'];
/** How long the old master stays away after another has taken over. */
const AWAY_MS = 1_500;

async function startSentinels(settings: readonly string[], defer: Defer) {
  const first = await startNode(settings, defer);
  const copyOfFirst = [...settings, '--replicaof', '127.0.0.1', String(first.port)];
  const replicas = await Promise.all([1, 2].map(() => startNode(copyOfFirst, defer)));
  const nodes = [first, ...replicas];
  const ports = await Promise.all(
    [1, 2, 3].map(async () => {
      const sentinel = await startSentinel(first.port, SENTINEL_SETTINGS);
      defer(() => sentinel.stop());
      return sentinel.port;
    }),
  );
  const admin = new Redis({ port: ports[0] ?? 0, host: '127.0.0.1' }).on('error', () => {});
  defer(() => admin.disconnect());

  const masterPort = async () => {
    const [, port] = (await admin.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'main')) as string[];
    return Number(port);
  };
  const master = async () => {
    const port = await masterPort();
    const node = nodes.find((one) => one.port === port);
    if (!node) throw new Error(`The sentinels name port ${port}, where no server of this campaign is.`);
    return node;
  };
  const successorOf = async (old: RedisNode) => {
    await until('the sentinels have another master', async () => (await masterPort()) !== old.port);
    const next = await master();
    await until('it is a master', async () => (await next.masterPort()) === next.port);
  };
  /** One master that all sentinels know, two replicas with a copy, and three sentinels that know each other. */
  const agree = async () => {
    await until('both replicas follow the master', async () => {
      const current = await masterPort();
      const masters = await Promise.all(nodes.map((node) => node.masterPort()));
      return masters.every((port) => port === current);
    });
    await until('a failover is possible', async () => {
      const reply = admin.call('SENTINEL', 'CKQUORUM', 'main');
      return String(await reply.catch(() => '')).startsWith('OK 3 usable');
    });
  };

  await agree();
  return {
    ports,

    async killMaster(): Promise<void> {
      const old = await master();
      await old.server.kill();
      await successorOf(old);
      await pause(AWAY_MS);
      await old.server.start();
      await old.command('REPLICAOF', '127.0.0.1', String(await masterPort()));
      await agree();
    },

    /** As when a virtual machine is paused: it comes back as the master that it was, until a sentinel tells it. */
    async suspendMaster(): Promise<void> {
      const old = await master();
      process.kill(old.server.pid, 'SIGSTOP');
      try {
        await successorOf(old);
        await pause(AWAY_MS);
      } finally {
        process.kill(old.server.pid, 'SIGCONT');
      }
      await agree();
    },
  };
}

const FAULTS = {
  killMaster: { name: 'kill -9 of the master', times: 8 },
  suspendMaster: { name: 'master suspended', times: 3 },
} as const;

interface Setup {
  readonly name: string;
  readonly client: RedisClient;
  readonly settings?: readonly string[];
  readonly faults?: readonly (keyof typeof FAULTS)[];
}

const SETUPS: readonly Setup[] = [
  { name: 'ioredis', client: 'ioredis sentinel' },
  { name: 'redis', client: 'redis sentinel' },
  {
    name: 'ioredis, min-replicas-to-write 1',
    client: 'ioredis sentinel',
    settings: ONE_REPLICA,
    faults: ['suspendMaster'],
  },
  { name: 'ioredis, failoverDetector: true', client: 'ioredis sentinel with failoverDetector' },
  { name: 'ioredis, WAIT 1 after each command', client: 'ioredis sentinel with WAIT' },
];

export const REDIS_SENTINEL: readonly TopologyCampaign[] = SETUPS.flatMap(
  ({ name, client, settings = [], faults = ['killMaster', 'suspendMaster'] }) =>
    faults.map((fault) => ({
      ...REDIS_PLAN,
      name: `redis sentinel, ${name}: ${FAULTS[fault].name}`,
      start: async (defer) => {
        const nodes = await startSentinels([...SETTINGS, ...settings], defer);
        const store = { client, ports: nodes.ports };
        return { store, faults: [{ times: FAULTS[fault].times, inject: () => nodes[fault]() }] };
      },
    })),
);
