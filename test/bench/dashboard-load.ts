// How long the page takes to answer a person while 500 deliveries are listed and 50 arrive every second.
// npm run bench:dashboard [-- --seconds 20] uses the page in Chromium as fast as it answers, for at most a minute in all.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { type Simulator, startSimulator } from 'payment-webhooks/simulator';
import { chromium, type Page } from 'playwright-core';
import { buildPages, CHROMIUM_IS_MISSING, executablePath, FLAGS } from '../browser/launch.js';

const LISTED = 500;
const A_SECOND = 50;
const AT_ONCE = 5;
const BOUND_MS = 100;
const MOST_MS = 60_000;

/** Ends this process and the browser's from a thread of its own, which no busy loop and no stuck browser can hold up. */
const GUARD = `
  const { parentPort, workerData } = require('node:worker_threads');
  const kill = (pid) => { try { process.kill(pid, 'SIGKILL'); } catch {} };
  let browser;
  parentPort.on('message', (pid) => { browser = pid; });
  setTimeout(() => {
    require('node:fs').writeSync(2, 'It took longer than ' + workerData / 1000 + ' s: ended by force.\\n');
    if (browser) { kill(-browser); kill(browser); }
    kill(process.pid);
  }, workerData);
`;

interface Use {
  readonly interactions: number;
  /** What the browser measured: for each interaction that it took 16 ms or more for, the time to the next frame. */
  readonly milliseconds: readonly number[];
}

async function observe(page: Page): Promise<void> {
  await page.evaluate(() => {
    const slow = new Map<number, number>();
    Object.assign(window, { slow });
    new PerformanceObserver((list) => {
      for (const { interactionId, duration } of list.getEntries() as PerformanceEventTiming[]) {
        if (interactionId) slow.set(interactionId, Math.max(duration, slow.get(interactionId) ?? 0));
      }
    }).observe({ type: 'event', durationThreshold: 16 } as PerformanceObserverInit);
  });
}

/** Every key and every filter once: how many interactions that were. */
async function useEverything(page: Page): Promise<number> {
  const keys = ['j', 'j', 'Enter', 'j', 'j', 'k', 'Escape', '/'];
  const search = 'event:transaction.* status:delivered';
  for (const key of keys) await page.keyboard.press(key);
  await page.keyboard.type(search);
  for (const key of ['Control+a', 'Delete', 'Escape']) await page.keyboard.press(key);
  const filter = page.getByRole('group', { name: 'Filter by status' }).getByRole('button');
  await filter.nth(1).click();
  await filter.first().click();
  return keys.length + search.length + 3 + 2;
}

async function use(page: Page, until: number): Promise<Use> {
  await observe(page);
  let interactions = 0;
  while (performance.now() < until) interactions += await useEverything(page);
  const slow = await page.evaluate(() => [
    ...(window as unknown as { slow: Map<number, number> }).slow.values(),
  ]);
  return { interactions, milliseconds: slow.sort((one, other) => other - one) };
}

async function arrive(service: Simulator, until: number): Promise<number> {
  let arrived = 0;
  for (let next = performance.now(); next < until; next += (1_000 * AT_ONCE) / A_SECOND) {
    await pause(Math.max(0, next - performance.now()));
    await service.trigger('transaction.paid', {}, { count: AT_ONCE });
    arrived += AT_ONCE;
  }
  return arrived;
}

async function start(): Promise<Simulator> {
  const endpoint = createServer((request, response) => request.resume().on('end', () => response.end()));
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  const service = await startSimulator({ port: 0, clock: 'real' });
  const { port } = endpoint.address() as AddressInfo;
  await service.webhooks.create({ url: `http://127.0.0.1:${port}/hooks` });
  await service.trigger('transaction.paid', {}, { count: LISTED });
  return service;
}

async function measure(page: Page, service: Simulator, seconds: number): Promise<boolean> {
  await page.goto(service.dashboardUrl);
  const last = page.locator('tr.row').nth(LISTED - 1);
  await last.waitFor();
  const until = performance.now() + seconds * 1_000;
  const [{ interactions, milliseconds }, arrived] = await Promise.all([
    use(page, until),
    arrive(service, until),
  ]);
  await page.locator(`[data-row="${service.deliveries().at(-1)?.id}"]`).waitFor();
  await last.waitFor();
  const at = (share: number) => milliseconds[Math.floor(interactions * share)] ?? 0;
  const slow = milliseconds.filter((each) => each >= BOUND_MS).length;
  console.log(
    `${interactions} interactions in ${seconds} s, while ${arrived} deliveries arrived and ${LISTED} were listed:\n` +
      `the slowest ${at(0)} ms, 2 % above ${at(0.02)} ms, half above ${at(0.5)} ms; ${slow} took ${BOUND_MS} ms or more.`,
  );
  // As browsers rate pages: of each fifty interactions the slowest is the machine's.
  return at(0.02) < BOUND_MS;
}

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '20' } } });
if (!executablePath) throw new Error(CHROMIUM_IS_MISSING);
const guard = new Worker(GUARD, { eval: true, workerData: MOST_MS });
buildPages();
const server = await chromium.launchServer({ executablePath, args: FLAGS });
guard.postMessage(server.process().pid);
const browser = await chromium.connect(server.wsEndpoint());
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
const fast = await measure(page, await start(), Math.min(Number(values.seconds), MOST_MS / 2_000)).finally(
  () => server.kill(),
);
process.exit(fast ? 0 : 1);
