// Redis Cluster, three masters with a replica each: a master killed, a failover by hand, slots moved under load.
import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Defer } from '../environment.js';
import { REDIS_PLAN, type TopologyCampaign } from './campaign.js';
import { type RedisNode, startNode, until } from './redis-node.js';

const NODES = 6;
const SETTINGS = ['--appendonly', 'yes', '--cluster-enabled', 'yes', '--cluster-node-timeout', '2000'];
/** How long the killed server stays down after its replica has taken over. */
const DOWN_MS = 1_500;
/** So many slots at a time have keys on both sides, for as long as this and as it takes to move the rest. */
const MOVED_SLOTS = 300;
const MOVING_MS = 3_000;
const KEYS_AT_ONCE = 20;
/** Redis gives a failover up after five seconds. It has to be asked for again then. */
const GIVEN_UP_MS = 6_000;

async function startCluster(defer: Defer) {
  const nodes = await Promise.all(Array.from({ length: NODES }, () => startNode(SETTINGS, defer)));
  const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`);
  const args = ['--cluster', 'create', ...hosts, '--cluster-replicas', '1', '--cluster-yes'];
  await promisify(execFile)('redis-cli', args);

  const masters = async () => {
    const ports = await Promise.all(nodes.map((node) => node.masterPort()));
    return nodes.filter((node, index) => ports[index] === node.port);
  };
  const pair = async () => {
    const [master] = shuffledPair(await masters());
    for (const replica of nodes) {
      if (replica !== master && (await replica.masterPort()) === master.port) return { master, replica };
    }
    throw new Error(`The master on port ${master.port} has no replica.`);
  };
  const takenOver = async (replica: RedisNode, from: RedisNode) => {
    await until('the replica is a master', async () => (await replica.masterPort()) === replica.port);
    const others = nodes.filter((node) => node !== from);
    await until('the cluster is up again', () => all(others, isOk));
  };
  /** Every node is up, sees the cluster as a whole, and is a master or a replica with a copy. */
  const agree = async () => {
    await until('every node sees the whole cluster', () => all(nodes, isOk));
    const hasPart = async (node: RedisNode) => (await node.masterPort()) !== undefined;
    await until('every replica has a copy', () => all(nodes, hasPart));
    await until('there are three masters', async () => (await masters()).length === NODES / 2);
  };
  const slotsOf = async ({ port, command }: RedisNode) => {
    const ranges = (await command('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
    return ranges
      .filter(([, , [, owner]]) => owner === port)
      .flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, index) => `${first + index}`));
  };

  await agree();
  return {
    ports: nodes.map(({ port }) => port),

    async killMaster(): Promise<void> {
      const { master, replica } = await pair();
      await master.server.kill();
      await takenOver(replica, master);
      await pause(DOWN_MS);
      await master.server.start();
      await agree();
    },

    /** The old master stops taking writes until the new one has all of them. */
    async failOver(): Promise<void> {
      const { master, replica } = await pair();
      let askedAt = Number.NEGATIVE_INFINITY;
      await until('the replica is a master', async () => {
        if ((await replica.masterPort()) === replica.port) return true;
        if (performance.now() - askedAt > GIVEN_UP_MS) {
          askedAt = performance.now();
          await replica.command('CLUSTER', 'FAILOVER');
        }
        return false;
      });
      await takenOver(replica, master);
      await agree();
    },

    async moveSlots(): Promise<void> {
      const all = await masters();
      const [from, to] = shuffledPair(all);
      const others = all.filter((node) => node !== from && node !== to);
      const [source, target] = [await idOf(from), await idOf(to)];
      const slots = (await slotsOf(from)).slice(0, MOVED_SLOTS);
      await each(slots, async (slot) => {
        await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source);
        await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target);
      });
      for (const end = performance.now() + MOVING_MS; performance.now() < end; await pause(50)) {
        await each(sample(slots), (slot) => moveKeys(from, to.port, slot));
      }
      await each(slots, async (slot) => {
        while (await moveKeys(from, to.port, slot));
        // The target first: else nobody would own the slot for a moment.
        for (const node of [to, from, ...others])
          await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', target);
      });
      await agree();
    },
  };
}

async function all(nodes: readonly RedisNode[], test: (node: RedisNode) => Promise<boolean>) {
  return (await Promise.all(nodes.map(test))).every(Boolean);
}

async function isOk(node: RedisNode): Promise<boolean> {
  return String(await node.command('CLUSTER', 'INFO')).includes('cluster_state:ok');
}

async function idOf(node: RedisNode): Promise<string> {
  return String(await node.command('CLUSTER', 'MYID'));
}

/** Whether there was any. */
async function moveKeys(from: RedisNode, port: number, slot: string): Promise<boolean> {
  const keys = (await from.command('CLUSTER', 'GETKEYSINSLOT', slot, String(KEYS_AT_ONCE))) as string[];
  if (keys.length === 0) return false;
  await from.command('MIGRATE', '127.0.0.1', String(port), '', '0', '5000', 'KEYS', ...keys);
  return true;
}

async function each(slots: readonly string[], step: (slot: string) => Promise<unknown>): Promise<void> {
  await Promise.all(slots.map(step));
}

function sample(slots: readonly string[]): string[] {
  return slots.filter(() => Math.random() < 0.05);
}

function shuffledPair(nodes: readonly RedisNode[]): [RedisNode, RedisNode] {
  const first = Math.floor(Math.random() * nodes.length);
  const others = nodes.filter((_, index) => index !== first);
  const [one, other] = [nodes[first], others[Math.floor(Math.random() * others.length)]];
  if (!one || !other) throw new Error('The cluster has fewer than two masters.');
  return [one, other];
}

type Fault = 'killMaster' | 'failOver' | 'moveSlots';

const FAULTS: Record<Fault, { readonly name: string; readonly faults: number }> = {
  killMaster: { name: 'kill -9 of a master', faults: 8 },
  failOver: { name: 'CLUSTER FAILOVER', faults: 8 },
  moveSlots: { name: `${MOVED_SLOTS} slots moved`, faults: 4 },
};

export const REDIS_CLUSTER: readonly TopologyCampaign[] = (['ioredis', 'redis'] as const).flatMap((client) =>
  (Object.keys(FAULTS) as Fault[]).map((fault) => ({
    ...REDIS_PLAN,
    name: `redis cluster, ${client}: ${FAULTS[fault].name}`,
    start: async (defer) => {
      const nodes = await startCluster(defer);
      const store = { client: `${client} cluster` as const, ports: nodes.ports.slice(0, 3) };
      return { store, faults: [{ times: FAULTS[fault].faults, inject: () => nodes[fault]() }] };
    },
  })),
);
