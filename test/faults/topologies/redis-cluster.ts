// Redis Cluster, three masters with a replica each: a master killed, a failover by hand, slots moved under load.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { TopologyCampaign } from '../topologies.js';
import { REDIS_PLAN, runTopologyCampaign, type Topology } from './campaign.js';
import type { RedisClient } from './redis-clients.js';
import { RedisNode, until } from './redis-node.js';

const NODES = 6;
const SETTINGS = ['--appendonly', 'yes', '--cluster-enabled', 'yes', '--cluster-node-timeout', '2000'];
/** How long the killed server stays down after its replica has taken over. */
const DOWN_MS = 1_500;
/** So many slots at a time have keys on both sides, for as long as this and as it takes to move the rest. */
const MOVED_SLOTS = 300;
const MOVING_MS = 3_000;
const KEYS_AT_ONCE = 20;

class ClusterNodes {
  readonly #nodes: readonly RedisNode[];

  private constructor(nodes: readonly RedisNode[]) {
    this.#nodes = nodes;
  }

  static async start(): Promise<ClusterNodes> {
    const nodes = new ClusterNodes(
      await Promise.all(Array.from({ length: NODES }, () => RedisNode.start(SETTINGS))),
    );
    try {
      const hosts = nodes.ports.map((port) => `127.0.0.1:${port}`);
      const args = ['--cluster', 'create', ...hosts, '--cluster-replicas', '1', '--cluster-yes'];
      const [code] = await once(spawn('redis-cli', args, { stdio: 'ignore' }), 'exit');
      if (code !== 0) throw new Error(`redis-cli --cluster create ended with ${code}.`);
      await nodes.#agree();
      return nodes;
    } catch (error) {
      await nodes.stop();
      throw error;
    }
  }

  get ports(): number[] {
    return this.#nodes.map(({ port }) => port);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.stop()));
  }

  async killMaster(): Promise<void> {
    const { master, replica } = await this.#pair();
    await master.server.kill();
    await this.#takenOver(replica, master);
    await pause(DOWN_MS);
    await master.server.start();
    await this.#agree();
  }

  /** The old master stops taking writes until the new one has all of them. */
  async failOver(): Promise<void> {
    const { master, replica } = await this.#pair();
    await replica.command('CLUSTER', 'FAILOVER');
    await this.#takenOver(replica, master);
    await this.#agree();
  }

  async moveSlots(): Promise<void> {
    const masters = await this.#masters();
    const [from, to] = shuffledPair(masters);
    const others = masters.filter((node) => node !== from && node !== to);
    const [source, target] = [await idOf(from), await idOf(to)];
    const slots = (await this.#slotsOf(from.port)).slice(0, MOVED_SLOTS);
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
    await this.#agree();
  }

  async #masters(): Promise<RedisNode[]> {
    const ports = await Promise.all(this.#nodes.map((node) => node.masterPort()));
    return this.#nodes.filter((node, index) => ports[index] === node.port);
  }

  async #pair(): Promise<{ readonly master: RedisNode; readonly replica: RedisNode }> {
    const [master] = shuffledPair(await this.#masters());
    for (const replica of this.#nodes) {
      if (replica !== master && (await replica.masterPort()) === master.port) return { master, replica };
    }
    throw new Error(`The master on port ${master.port} has no replica.`);
  }

  async #takenOver(replica: RedisNode, from: RedisNode): Promise<void> {
    await until('the replica is a master', async () => (await replica.masterPort()) === replica.port);
    const others = this.#nodes.filter((node) => node !== from);
    await until('the cluster is up again', () => all(others, isOk));
  }

  /** Every node is up, sees the cluster as a whole, and is a master or a replica with a copy. */
  async #agree(): Promise<void> {
    await until('every node sees the whole cluster', () => all(this.#nodes, isOk));
    const hasPart = async (node: RedisNode) => (await node.masterPort()) !== undefined;
    await until('every replica has a copy', () => all(this.#nodes, hasPart));
    await until('there are three masters', async () => (await this.#masters()).length === NODES / 2);
  }

  async #slotsOf(port: number): Promise<string[]> {
    const ranges = (await this.#nodes[0]?.command('CLUSTER', 'SLOTS')) as [
      number,
      number,
      [string, number],
    ][];
    return ranges
      .filter(([, , [, owner]]) => owner === port)
      .flatMap(([first, last]) =>
        Array.from({ length: last - first + 1 }, (_, index) => String(first + index)),
      );
  }
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

function campaign(client: 'redis' | 'ioredis', fault: Fault): TopologyCampaign {
  const { name, faults } = FAULTS[fault];
  const access: RedisClient = `${client} cluster`;
  const start = async (): Promise<Topology> => {
    const nodes = await ClusterNodes.start();
    const store = { client: access, ports: nodes.ports.slice(0, 3) };
    const inject = async () => void (await nodes[fault]());
    return { store, faults: [{ times: faults, inject }], stop: () => nodes.stop() };
  };
  return {
    name: `redis cluster, ${client}: ${name}`,
    promise: 'at least once, deduplicated',
    run: (progress) => runTopologyCampaign({ ...REDIS_PLAN, start }, progress),
  };
}

export const REDIS_CLUSTER: readonly TopologyCampaign[] = (['ioredis', 'redis'] as const).flatMap((client) =>
  (Object.keys(FAULTS) as Fault[]).map((fault) => campaign(client, fault)),
);
