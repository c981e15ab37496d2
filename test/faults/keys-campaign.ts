// The campaign of cachedKeys(): what forged deliveries cost a secret manager, and how soon a new key is accepted.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { cachedKeys, receiver } from 'payment-webhooks';
import { fixtures, signedDelivery } from 'payment-webhooks/testing';

export interface KeysCampaignOptions {
  readonly forged: number;
  /** Over how long the forged deliveries are spread. */
  readonly seconds: number;
  /** Receivers that see the key change while nobody forges anything. */
  readonly receivers: number;
  readonly progress: (line: string) => void;
}

export interface KeysCampaign {
  readonly forged: number;
  readonly seconds: number;
  readonly loads: number;
  /** The most loads that began within any 10 seconds. */
  readonly most: number;
  /** Genuine deliveries beside the forged ones, before the key changes. */
  readonly genuine: number;
  /** How long a new key was answered 503, in milliseconds, when it came in the middle of the forged deliveries. */
  readonly delayedMs: number;
  readonly receivers: number;
  /** Receivers that accepted their first delivery with the new key. */
  readonly atOnce: number;
  readonly violations: readonly string[];
}

/** The default of `refreshOnMismatch`. */
const WINDOW_MS = 10_000;
/** What a busy machine adds to it. */
const SLACK_MS = 2_000;
const MOST_LOADS = 2;
/** What the secret manager takes for an answer. */
const LOAD_MS = 20;
const BATCH = 25;
const JUST_MS = 1_000;

export async function runKeysCampaign(options: KeysCampaignOptions): Promise<KeysCampaign> {
  const manager = await SecretManager.start();
  try {
    const flood = await forge(manager, options);
    const rotation = await rotate(manager, options);
    return { ...flood, ...rotation, violations: [...flood.violations, ...rotation.violations] };
  } finally {
    await manager.close();
  }
}

/** Forged deliveries with a genuine one beside each batch. Halfway the key changes, just after a load: at the worst time. */
async function forge(manager: SecretManager, { forged: all, seconds, progress }: KeysCampaignOptions) {
  const endpoint = await Endpoint.start(manager);
  const wrongAnswers: string[] = [];
  const expect = (wanted: readonly number[], status: number, what: string) => {
    if (!wanted.includes(status)) wrongAnswers.push(`${what} was answered ${status}`);
  };
  let [forged, genuine, changedAt, acceptedAt] = [0, 0, 0, 0];
  const began = performance.now();
  try {
    for (; forged < all; forged += BATCH) {
      progress(`keys: ${forged} of ${all} forged deliveries, ${manager.loadedAt.length} loads`);
      if (changedAt === 0 && forged * 2 >= all && manager.hasJustLoaded) {
        manager.key = 'pri_second';
        changedAt = performance.now();
      }
      const wrong = Array.from({ length: BATCH }, () => endpoint.post('pri_forged'));
      const status = await endpoint.post(manager.key);
      for (const one of await Promise.all(wrong)) expect([401, 503], one, 'a forged delivery');
      if (changedAt === 0) genuine += 1;
      const isDelayed = changedAt > 0 && acceptedAt === 0;
      expect(isDelayed ? [200, 503] : [200], status, 'a genuine delivery');
      if (isDelayed && status === 200) acceptedAt = performance.now();
      // Spread evenly, so that several windows pass.
      await pause(Math.max(began + ((forged + BATCH) / all) * seconds * 1_000 - performance.now(), 0));
    }
  } finally {
    await endpoint.close();
  }
  const most = loadsWithin(manager.loadedAt, WINDOW_MS);
  const delayedMs = acceptedAt - changedAt;
  const violations = [...new Set(wrongAnswers)];
  if (most > MOST_LOADS) violations.push(`${most} loads within ${WINDOW_MS} ms`);
  if (delayedMs < 0 || delayedMs > WINDOW_MS + SLACK_MS)
    violations.push(`the new key was not accepted within ${WINDOW_MS} ms`);
  const figures = { forged, genuine, delayedMs: Math.round(delayedMs), loads: manager.loadedAt.length, most };
  return { ...figures, seconds: Math.round((performance.now() - began) / 1_000), violations };
}

/** The most that began within one window. @param times in milliseconds, in order */
function loadsWithin(times: readonly number[], windowMs: number): number {
  let most = 0;
  let oldest = 0;
  for (const [index, time] of times.entries()) {
    while (time - (times[oldest] as number) >= windowMs) oldest += 1;
    most = Math.max(most, index - oldest + 1);
  }
  return most;
}

/** The key changes once, when the receivers have had the old one for longer than the window. */
async function rotate(manager: SecretManager, { receivers, progress }: KeysCampaignOptions) {
  const endpoints = await Promise.all(Array.from({ length: receivers }, () => Endpoint.start(manager)));
  const violations: string[] = [];
  let atOnce = 0;
  try {
    for (const endpoint of endpoints) await endpoint.post(manager.key);
    progress(`keys: ${receivers} receivers, for longer than refreshOnMismatch`);
    await pause(WINDOW_MS + LOAD_MS);
    const before = manager.loadedAt.length;
    manager.key = 'pri_third';
    for (const endpoint of endpoints) {
      if ((await endpoint.post(manager.key)) === 200) atOnce += 1;
      // Its load has just begun, so a signature by the old key is to be retried.
      if ((await endpoint.post('pri_second')) !== 503) violations.push('the old key was not answered 503');
    }
    const loads = manager.loadedAt.length - before;
    if (loads !== receivers) violations.push(`${receivers} receivers loaded the new key ${loads} times`);
  } finally {
    await Promise.all(endpoints.map((endpoint) => endpoint.close()));
  }
  if (atOnce !== receivers) violations.push(`${receivers - atOnce} receivers refused the new key at first`);
  return { receivers, atOnce, violations };
}

/** Gives the current key over HTTP, and notes when it was asked. */
class SecretManager {
  key = 'pri_first';
  readonly loadedAt: number[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer(async (_req, res) => {
      this.loadedAt.push(performance.now());
      await pause(LOAD_MS);
      res.end(JSON.stringify(this.key));
    });
  }

  static async start(): Promise<SecretManager> {
    const manager = new SecretManager();
    await listening(manager.#server);
    return manager;
  }

  get hasJustLoaded(): boolean {
    return performance.now() - (this.loadedAt.at(-1) ?? 0) < JUST_MS;
  }

  async load(): Promise<string> {
    const response = await fetch(addressOf(this.#server));
    return (await response.json()) as string;
  }

  close(): Promise<void> {
    return closed(this.#server);
  }
}

/** A receiver over HTTP whose keys come from the manager. */
class Endpoint {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(manager: SecretManager): Promise<Endpoint> {
    const privateKey = cachedKeys(() => manager.load(), { logger: false });
    const handlers = { 'transaction.paid': async () => {} };
    const server = createServer(receiver({ privateKey, logger: false, handlers }));
    await listening(server);
    return new Endpoint(server);
  }

  /** @returns the status of the answer to a new event that is signed with the key */
  async post(privateKey: string): Promise<number> {
    const { rawBody, headers } = signedDelivery(fixtures.transactionPaid(), { privateKey });
    const response = await fetch(addressOf(this.#server), { method: 'POST', headers, body: rawBody });
    await response.arrayBuffer();
    return response.status;
  }

  close(): Promise<void> {
    return closed(this.#server);
  }
}

function listening(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
}

function addressOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
