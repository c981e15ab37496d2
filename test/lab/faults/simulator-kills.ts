// `npm run test:state-kills [-- --kills 50]`: `simulate --state` is killed with -9 in the middle of retries, and started
// again. Counts the events that were accepted and never acknowledged. It runs the program as it was built.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { until } from '../../setup/waiting.js';

const AT_ONCE = 10;
const LONGEST_LIFE_MS = 800;
const MOST_MS = 5 * 60_000;

const { values } = parseArgs({ options: { kills: { type: 'string', default: '50' } } });
const kills = Number(values.kills);
const folder = mkdtempSync(join(tmpdir(), 'simulator-kills-'));

let life = 0;
let attempts = 0;
let running: ChildProcess | undefined;
const firstSeenIn = new Map<string, number>();
const acknowledged = new Map<string, number>();

/** Acknowledges an event only in a later life than the one that began to deliver it: so every kill meets retries. */
const endpoint = createServer(async (request, response) => {
  const { id } = JSON.parse(Buffer.concat(await request.toArray()).toString());
  attempts += 1;
  const began = firstSeenIn.get(id) ?? life;
  firstSeenIn.set(id, began);
  if (began < life) acknowledged.set(id, (acknowledged.get(id) ?? 0) + 1);
  response.writeHead(began < life ? 200 : 500).end();
});

async function start() {
  const { port } = endpoint.address() as AddressInfo;
  const args = [
    ...['dist/cjs/cli.js', 'simulate', '--json', '--port', '0', '--forward', `${port}/hooks`],
    ...['--state', join(folder, 'state.json'), '--retry', Array(200).fill('150ms').join(',')],
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  running = child;
  const [ready] = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`simulate ended with ${code}.`))),
  ]);
  return { child, baseUrl: JSON.parse(ready).base_url as string };
}

/** The ids that the simulator has promised to deliver; none where the kill came before its answer. */
async function trigger(baseUrl: string): Promise<string[]> {
  const response = await fetch(`${baseUrl}/_sim/events`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ event_name: 'transaction.paid', count: AT_ONCE }),
  }).catch(() => undefined);
  const text = await response?.text().catch(() => undefined);
  if (text === undefined) return [];
  return JSON.parse(text).data.events.map(({ id }: { id: string }) => id);
}

async function waiting(baseUrl: string): Promise<number> {
  const url = `${baseUrl}/_sim/deliveries?status=pending,in_flight,retrying&limit=1`;
  return ((await (await fetch(url)).json()) as { total: number }).total;
}

async function campaign(): Promise<number> {
  const accepted = new Set<string>();
  let [interrupted, unanswered] = [0, 0];
  let program = await start();
  for (; life < kills; life += 1) {
    const gone = once(program.child, 'exit');
    const promised = trigger(program.baseUrl);
    // Rather soon than late: some kills come before the answer.
    await pause(Math.random() ** 2 * LONGEST_LIFE_MS);
    program.child.kill('SIGKILL');
    await gone;
    const ids = await promised;
    for (const id of ids) accepted.add(id);
    if (ids.length === 0) unanswered += 1;
    interrupted += [...accepted].filter((id) => !acknowledged.has(id)).length;
    program = await start();
  }
  await until(async () => (await waiting(program.baseUrl)) === 0, 30_000, 50).catch(() => {});
  const lost = [...accepted].filter((id) => !acknowledged.has(id)).length;
  const again = [...acknowledged.values()].filter((times) => times > 1).length;
  console.log(
    `${kills} kills, ${unanswered} of them before the simulator had answered; ${accepted.size} events accepted, ` +
      `${interrupted} times one was interrupted, ${attempts} attempts: ${lost} lost, ${again} acknowledged more than once.`,
  );
  return lost;
}

process.on('exit', () => running?.kill('SIGKILL'));
setTimeout(() => process.exit(3), MOST_MS).unref();
endpoint.listen(0, '127.0.0.1');
await once(endpoint, 'listening');
const lost = await campaign().finally(() => rmSync(folder, { recursive: true, force: true }));
process.exit(lost === 0 ? 0 : 1);
