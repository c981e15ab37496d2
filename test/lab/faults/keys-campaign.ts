// The campaign of cachedKeys(): what forged deliveries cost a secret manager, and how soon a new key is accepted.
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { cachedKeys, receiver } from 'payment-webhooks';
import { fixtures } from 'payment-webhooks/testing';
import { type Defer, withCleanup } from './environment.js';
import { post } from './post.js';
import { publish } from './report.js';

const FORGED = 10_000;
/** Over how long the forged deliveries are spread. */
const SECONDS = 60;
/** Receivers that see the key change while nobody forges anything. */
const RECEIVERS = 20;
/** The default of `refreshOnMismatch`. */
const WINDOW_MS = 10_000;
/** What a busy machine adds to it. */
const SLACK_MS = 2_000;
const MOST_LOADS = 2;
/** What the secret manager takes for an answer. */
const LOAD_MS = 20;
const BATCH = 25;
const JUST_MS = 1_000;

type Progress = (line: string) => void;
type Figures = readonly (readonly [what: string, figure: number | string])[];

export function runKeysCampaign(progress: Progress): Promise<{ readonly violations: readonly string[] }> {
  return withCleanup(async (defer) => {
    const manager = await startSecretManager(defer);
    const violations: string[] = [];
    const flood = await forge(manager, { defer, progress, violations });
    const rotation = await rotate(manager, { defer, progress, violations });
    publish('keys', ['what', 'figure'], [...flood, ...rotation]);
    return { violations };
  });
}

interface Run {
  readonly defer: Defer;
  readonly progress: Progress;
  readonly violations: string[];
}

/** Forged deliveries with a genuine one beside each batch. Halfway the key changes, just after a load: at the worst time. */
async function forge(manager: SecretManager, { defer, progress, violations }: Run): Promise<Figures> {
  const send = await startEndpoint(manager, defer);
  const wrongAnswers = new Set<string>();
  const expect = (wanted: readonly number[], status: number | undefined, what: string) => {
    if (!wanted.includes(status ?? 0)) wrongAnswers.add(`${what} was answered ${status}`);
  };
  let [changedAt, acceptedAt] = [0, 0];
  const began = performance.now();
  for (let forged = BATCH; forged <= FORGED; forged += BATCH) {
    progress(`keys: ${forged} of ${FORGED} forged deliveries, ${manager.loadedAt.length} loads`);
    const sinceLoad = performance.now() - (manager.loadedAt.at(-1) ?? 0);
    if (changedAt === 0 && forged * 2 > FORGED && sinceLoad < JUST_MS) {
      manager.key = 'pri_second';
      changedAt = performance.now();
    }
    const wrong = Array.from({ length: BATCH }, () => send('pri_forged'));
    const status = await send(manager.key);
    for (const one of await Promise.all(wrong)) expect([401, 503], one, 'a forged delivery');
    const isDelayed = changedAt > 0 && acceptedAt === 0;
    expect(isDelayed ? [200, 503] : [200], status, 'a genuine delivery');
    if (isDelayed && status === 200) acceptedAt = performance.now();
    // Spread evenly, so that several windows pass.
    await pause(Math.max(began + (forged / FORGED) * SECONDS * 1_000 - performance.now(), 0));
  }
  const most = loadsWithin(manager.loadedAt, WINDOW_MS);
  const delayedMs = acceptedAt - changedAt;
  violations.push(...wrongAnswers);
  if (most > MOST_LOADS) violations.push(`${most} loads within ${WINDOW_MS} ms`);
  if (delayedMs < 0 || delayedMs > WINDOW_MS + SLACK_MS)
    violations.push(`the new key was not accepted within ${WINDOW_MS} ms`);
  return [
    ['forged deliveries', FORGED],
    ['over how many seconds', Math.round((performance.now() - began) / 1_000)],
    ['loads of the keys', manager.loadedAt.length],
    ['most loads within 10 s', most],
    ['how long a new key was answered 503 meanwhile, s', (delayedMs / 1_000).toFixed(1)],
  ];
}

/** The most that began within one window. @param times in milliseconds, in order */
function loadsWithin(times: readonly number[], windowMs: number): number {
  const within = times.map((from) => times.filter((time) => from <= time && time < from + windowMs).length);
  return Math.max(0, ...within);
}

/** The key changes once, when the receivers have had the old one for longer than the window. */
async function rotate(manager: SecretManager, { defer, progress, violations }: Run): Promise<Figures> {
  const endpoints = await Promise.all(Array.from({ length: RECEIVERS }, () => startEndpoint(manager, defer)));
  for (const send of endpoints) await send(manager.key);
  progress(`keys: ${RECEIVERS} receivers, for longer than refreshOnMismatch`);
  await pause(WINDOW_MS + LOAD_MS);
  const before = manager.loadedAt.length;
  manager.key = 'pri_third';
  let atOnce = 0;
  for (const send of endpoints) {
    if ((await send(manager.key)) === 200) atOnce += 1;
    // Its load has just begun, so a signature by the old key is to be retried.
    if ((await send('pri_second')) !== 503) violations.push('the old key was not answered 503');
  }
  const loads = manager.loadedAt.length - before;
  if (loads !== RECEIVERS) violations.push(`${RECEIVERS} receivers loaded the new key ${loads} times`);
  if (atOnce !== RECEIVERS) violations.push(`${RECEIVERS - atOnce} receivers refused the new key at first`);
  return [
    ['receivers that saw a new key while nobody forged', RECEIVERS],
    ['of these, accepted its first delivery', atOnce],
  ];
}

/** Gives the current key over HTTP, and notes when it was asked. */
interface SecretManager {
  key: string;
  readonly loadedAt: readonly number[];
  load(): Promise<string>;
}

async function startSecretManager(defer: Defer): Promise<SecretManager> {
  const loadedAt: number[] = [];
  const port = await listen(async (_req, res) => {
    loadedAt.push(performance.now());
    await pause(LOAD_MS);
    res.end(JSON.stringify(manager.key));
  }, defer);
  const load = async () => (await (await fetch(`http://127.0.0.1:${port}/`)).json()) as string;
  const manager = { key: 'pri_first', loadedAt, load };
  return manager;
}

/** A receiver over HTTP. @returns sends a new event that is signed with a key, and gives the status of the answer */
async function startEndpoint(manager: SecretManager, defer: Defer) {
  const privateKey = cachedKeys(() => manager.load(), { logger: false });
  const handlers = { 'transaction.paid': async () => {} };
  const port = await listen(receiver({ privateKey, logger: false, handlers }), defer);
  return async (key: string) => (await post(port, fixtures.transactionPaid(), key)).status;
}

async function listen(listener: RequestListener, defer: Defer): Promise<number> {
  const server = createServer(listener);
  defer(() => server.close().closeAllConnections());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
