// One Redis server of a topology, and what an operator asks and tells it.
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type Service, startRedis } from '../../setup/services.js';

const POLL_MS = 20;
/** More than any failover here needs; a campaign fails then. */
const MOST_MS = 60_000;

export class RedisNode {
  readonly server: Service;
  readonly #admin: Redis;

  private constructor(server: Service) {
    this.server = server;
    this.#admin = new Redis({ port: server.port, host: '127.0.0.1', retryStrategy: () => 50 });
    this.#admin.on('error', () => {});
  }

  static async start(settings: readonly string[]): Promise<RedisNode> {
    return new RedisNode(await startRedis(settings));
  }

  get port(): number {
    return this.server.port;
  }

  command(name: string, ...args: string[]): Promise<unknown> {
    return this.#admin.call(name, ...args);
  }

  /** The port of its master, once it has a copy of that; its own when it is a master. */
  async masterPort(): Promise<number | undefined> {
    const [role, , port, link] = await this.#admin.role();
    if (role === 'master') return this.port;
    return link === 'connected' ? Number(port) : undefined;
  }

  async stop(): Promise<void> {
    this.#admin.disconnect();
    await this.server.stop();
  }
}

export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + MOST_MS;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`Waited ${MOST_MS} ms until ${what}.`);
    await pause(POLL_MS);
  }
}
