// One Redis server of a topology, and what an operator asks and tells it.
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type Service, startRedis } from '../../../setup/services.js';
import type { Defer } from '../environment.js';

const POLL_MS = 20;
/** More than any failover here needs; a campaign fails then. */
const MOST_MS = 60_000;

export interface RedisNode {
  readonly port: number;
  readonly server: Service;
  command(name: string, ...args: string[]): Promise<unknown>;
  /** The port of its master, once it has a copy of that; its own when it is a master. */
  masterPort(): Promise<number | undefined>;
}

export async function startNode(settings: readonly string[], defer: Defer): Promise<RedisNode> {
  const server = await startRedis(settings);
  defer(() => server.stop());
  const { port } = server;
  const admin = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 50 }).on('error', () => {});
  defer(() => admin.disconnect());
  return {
    port,
    server,
    command: (name, ...args) => admin.call(name, ...args),
    masterPort: async () => {
      const [role, , masterPort, link] = await admin.role();
      if (role === 'master') return port;
      return link === 'connected' ? Number(masterPort) : undefined;
    },
  };
}

export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + MOST_MS;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`Waited ${MOST_MS} ms until ${what}.`);
    await pause(POLL_MS);
  }
}
