// Measures both pages on a quiet machine: `npm test -- --testMatch '**/test/browser/figures.ts'`.
import { expect, test } from '@jest/globals';
import type { CDPSession, Page } from 'playwright-core';
import { until } from '../setup/waiting.js';
import { endpoint, simulator } from '../tools/simulator/world.js';
import { button, describeInChromium, openPage } from './chromium.js';
import { letterApp, paid } from './letter-app.js';

/** Prints what was measured, and fails if it was not. */
function figure(name: string, value: number): void {
  expect(value).toBeGreaterThanOrEqual(0);
  process.stdout.write(`${name}: ${Number(value.toPrecision(3))}\n`);
}

const median = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

async function metric(session: CDPSession, name: string): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.find((one) => one.name === name)?.value ?? Number.NaN;
}

async function session(page: Page): Promise<CDPSession> {
  const opened = await page.context().newCDPSession(page);
  await opened.send('Performance.enable');
  return opened;
}

async function heapMiB(cdp: CDPSession): Promise<number> {
  for (let times = 0; times < 3; times += 1) await cdp.send('HeapProfiler.collectGarbage');
  return (await metric(cdp, 'JSHeapUsedSize')) / 2 ** 20;
}

/** Tasks longer than 50 ms, from now on. */
const watchTasks = (page: Page) =>
  page.evaluate(() => {
    const tasks: number[] = [];
    Object.assign(globalThis, { tasks });
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map((one) => one.duration))).observe({
      type: 'longtask',
    });
  });
const longestTask = (page: Page) =>
  page.evaluate(() => Math.max(0, ...(globalThis as unknown as { tasks: number[] }).tasks));

/** Scrolls a screen in 200 ms, for three seconds. @returns frames a second */
const scrollRate = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        const frame = document.querySelector('.table-frame');
        if (!frame) throw new Error('There is no table.');
        const begun = performance.now();
        let frames = 0;
        const step = () => {
          const ms = performance.now() - begun;
          if (ms > 3_000) return resolve((frames * 1_000) / ms);
          frames += 1;
          frame.scrollTop = (ms / 200) * frame.clientHeight;
          requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
      }),
  );

describeInChromium('figures of the pages', () => {
  test('while 10,000 deliveries arrive', async () => {
    const service = await simulator();
    const shop = await endpoint(200);
    await service.webhooks.create({ url: `http://127.0.0.1:${shop.port}/hooks` });
    const { page } = await openPage(service);
    const cdp = await session(page);
    await watchTasks(page);
    for (let times = 0; times < 100; times += 1)
      await service.trigger('transaction.paid', {}, { count: 100 });
    await until(() => service.deliveries().every(({ status }) => status === 'delivered'));
    // The simulator keeps the latest 500 that have ended.
    await button(page, 'All 500').waitFor();
    figure('longest task, ms', await longestTask(page));
    figure('heap after 10,000 deliveries, MiB', await heapMiB(cdp));
  });

  test('with 1,000, then 5,000 that wait for a retry', async () => {
    const service = await simulator({ retry: ['1h'] });
    await service.webhooks.create({ url: 'http://127.0.0.1:9/hooks' });
    await service.trigger('transaction.paid', {}, { count: 1_000 });
    const { page } = await openPage(service);
    const cdp = await session(page);
    const paints: number[] = [];
    for (let times = 0; times < 7; times += 1) {
      await page.reload();
      await page.locator('tr.row').first().waitFor();
      paints.push(
        await page.evaluate(
          () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN,
        ),
      );
    }
    figure('first paint, ms', median(paints));
    const before = await metric(cdp, 'TaskDuration');
    await page.waitForTimeout(10_000);
    figure('idle CPU, %', ((await metric(cdp, 'TaskDuration')) - before) * 10);
    for (let times = 0; times < 4; times += 1)
      await service.trigger('transaction.paid', {}, { count: 1_000 });
    await page.reload();
    for (const known of ['2,000 of', '3,000 of', '4,000 of', undefined]) {
      await button(page, 'Load older').click();
      if (known) await page.getByText(known).waitFor();
      else await page.getByText('of 5,000 shown').waitFor({ state: 'detached' });
    }
    figure('frames a second', await scrollRate(page));
    figure('heap with 5,000 rows, MiB', await heapMiB(cdp));
  });

  test('with 2,000 letters', async () => {
    const app = await letterApp();
    for (let n = 0; n < 2_000; n += 1) await app.keep(paid(`evt_${n}`, `order-${n}`));
    const { page } = await openPage(app);
    const opened: number[] = [];
    for (let n = 0; n < 9; n += 1) {
      const ms = await page
        .locator('tr.row')
        .nth(n)
        .locator('[data-row]')
        .evaluate(async (link) => {
          const begun = performance.now();
          const id = link.getAttribute('data-row') ?? '';
          (link as HTMLElement).click();
          while (!document.querySelector('.detail h2') || !location.search.includes(encodeURIComponent(id)))
            await new Promise(requestAnimationFrame);
          await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
          return performance.now() - begun;
        });
      opened.push(ms);
    }
    figure('opening a letter, ms', median(opened));
  });
});
