// A Redis master with two replicas and three sentinels: the master killed, or suspended and back after the failover.
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type Service, startSentinel } from '../../setup/services.js';
import type { TopologyCampaign } from '../topologies.js';
import { REDIS_PLAN, runTopologyCampaign, type Topology } from './campaign.js';
import type { RedisClient } from './redis-clients.js';
import { RedisNode, until } from './redis-node.js';

const SENTINEL_SETTINGS = ['down-after-milliseconds main 2000', 'failover-timeout main 5000'];
const SETTINGS = ['--appendonly', 'yes'];
const ONE_REPLICA = ['--min-replicas-to-write', '1', '--min-replicas-max-lag', '2'];
/** How long the old master stays away after another has taken over. */
const AWAY_MS = 1_500;

class SentinelNodes {
  readonly #nodes: readonly RedisNode[];
  readonly #sentinels: readonly Service[];
  readonly #admin: Redis;

  private constructor(nodes: readonly RedisNode[], sentinels: readonly Service[]) {
    this.#nodes = nodes;
    this.#sentinels = sentinels;
    this.#admin = new Redis({ port: sentinels[0]?.port ?? 0, host: '127.0.0.1' }).on('error', () => {});
  }

  static async start(settings: readonly string[]): Promise<SentinelNodes> {
    const master = await RedisNode.start(settings);
    const copyOf = [...settings, '--replicaof', '127.0.0.1', String(master.port)];
    const replicas = await Promise.all([RedisNode.start(copyOf), RedisNode.start(copyOf)]);
    const sentinels = await Promise.all([1, 2, 3].map(() => startSentinel(master.port, SENTINEL_SETTINGS)));
    const nodes = new SentinelNodes([master, ...replicas], sentinels);
    try {
      await nodes.#agree();
      return nodes;
    } catch (error) {
      await nodes.stop();
      throw error;
    }
  }

  get ports(): number[] {
    return this.#sentinels.map(({ port }) => port);
  }

  async stop(): Promise<void> {
    this.#admin.disconnect();
    await Promise.all([...this.#nodes, ...this.#sentinels].map((server) => server.stop()));
  }

  async killMaster(): Promise<void> {
    const old = await this.#master();
    await old.server.kill();
    await this.#successorOf(old);
    await pause(AWAY_MS);
    await old.server.start();
    await old.command('REPLICAOF', '127.0.0.1', String(await this.#masterPort()));
    await this.#agree();
  }

  /** As when a virtual machine is paused: it comes back as the master that it was, until a sentinel tells it. */
  async suspendMaster(): Promise<void> {
    const old = await this.#master();
    process.kill(old.server.pid, 'SIGSTOP');
    try {
      await this.#successorOf(old);
      await pause(AWAY_MS);
    } finally {
      process.kill(old.server.pid, 'SIGCONT');
    }
    await this.#agree();
  }

  async #master(): Promise<RedisNode> {
    const port = await this.#masterPort();
    const node = this.#nodes.find((one) => one.port === port);
    if (!node) throw new Error(`The sentinels name port ${port}, where no server of this campaign is.`);
    return node;
  }

  async #masterPort(): Promise<number> {
    const [, port] = (await this.#admin.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'main')) as string[];
    return Number(port);
  }

  async #successorOf(old: RedisNode): Promise<void> {
    await until('the sentinels have another master', async () => (await this.#masterPort()) !== old.port);
    const next = await this.#master();
    await until('it is a master', async () => (await next.masterPort()) === next.port);
  }

  /** One master that all sentinels know, two replicas with a copy, and three sentinels that know each other. */
  async #agree(): Promise<void> {
    await until('both replicas follow the master', async () => {
      const master = await this.#masterPort();
      const ports = await Promise.all(this.#nodes.map((node) => node.masterPort()));
      return ports.every((port) => port === master);
    });
    await until('a failover is possible', async () => {
      const reply = this.#admin.call('SENTINEL', 'CKQUORUM', 'main');
      return String(await reply.catch(() => '')).startsWith('OK 3 usable');
    });
  }
}

type Fault = 'killMaster' | 'suspendMaster';

const FAULTS: Record<Fault, { readonly name: string; readonly faults: number }> = {
  killMaster: { name: 'kill -9 of the master', faults: 8 },
  suspendMaster: { name: 'master suspended', faults: 3 },
};

interface Setup {
  readonly name: string;
  readonly client: RedisClient;
  readonly settings?: readonly string[];
  readonly faults: readonly Fault[];
}

const SETUPS: readonly Setup[] = [
  { name: 'ioredis', client: 'ioredis sentinel', faults: ['killMaster', 'suspendMaster'] },
  { name: 'redis', client: 'redis sentinel', faults: ['killMaster', 'suspendMaster'] },
  {
    name: 'ioredis, min-replicas-to-write 1',
    client: 'ioredis sentinel',
    settings: ONE_REPLICA,
    faults: ['suspendMaster'],
  },
  {
    name: 'ioredis, failoverDetector: true',
    client: 'ioredis sentinel with failoverDetector',
    faults: ['killMaster', 'suspendMaster'],
  },
  {
    name: 'ioredis, WAIT 1 after each command',
    client: 'ioredis sentinel with WAIT',
    faults: ['killMaster', 'suspendMaster'],
  },
];

function campaign({ name, client, settings = [] }: Setup, fault: Fault): TopologyCampaign {
  const start = async (): Promise<Topology> => {
    const nodes = await SentinelNodes.start([...SETTINGS, ...settings]);
    const inject = async () => void (await nodes[fault]());
    return {
      store: { client, ports: nodes.ports },
      faults: [{ times: FAULTS[fault].faults, inject }],
      stop: () => nodes.stop(),
    };
  };
  return {
    name: `redis sentinel, ${name}: ${FAULTS[fault].name}`,
    promise: 'at least once, deduplicated',
    run: (progress) => runTopologyCampaign({ ...REDIS_PLAN, start }, progress),
  };
}

export const REDIS_SENTINEL: readonly TopologyCampaign[] = SETUPS.flatMap((setup) =>
  setup.faults.map((fault) => campaign(setup, fault)),
);
