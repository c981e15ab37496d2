// A list of 3,000 deliveries: the page renders those in view, and loads older ones on demand.
import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { until } from '../setup/waiting.js';
import { simulator } from '../tools/simulator/world.js';
import { button, describeInChromium, expectFocus, openPage, row } from './chromium.js';

const nodes = (page: Page) => page.evaluate(() => document.querySelectorAll('*').length);

/** Scrolls from top to bottom in two seconds. @returns how many rows were in view in each frame */
function scroll(page: Page): Promise<number[]> {
  return page.evaluate(
    () =>
      new Promise<number[]>((resolve) => {
        const frame = document.querySelector('.table-frame');
        if (!frame) throw new Error('There is no table.');
        const begun = performance.now();
        const seen: number[] = [];
        const step = () => {
          const part = (performance.now() - begun) / 2_000;
          const { top, bottom } = frame.getBoundingClientRect();
          const inView = [...document.querySelectorAll('tr.row')].filter((row) => {
            const box = row.getBoundingClientRect();
            return box.bottom > top && box.top < bottom;
          });
          // The rows of the previous scroll step are painted now.
          seen.push(inView.length);
          frame.scrollTop = part * (frame.scrollHeight - frame.clientHeight - 200);
          if (part < 1) requestAnimationFrame(() => setTimeout(step));
          else resolve(seen);
        };
        step();
      }),
  );
}

/** A simulator with so many deliveries, which nobody answers. */
async function retrying(count: number, name = 'a.one') {
  const service = await simulator({ retry: ['1h'] });
  const webhook = await service.webhooks.create({ url: 'http://127.0.0.1:9/hooks' });
  for (let left = count; left > 0; left -= 1_000)
    await service.trigger(name, { payload: {} }, { count: Math.min(left, 1_000) });
  return { service, webhook };
}

describeInChromium('3,000 retrying deliveries', () => {
  test('are counted, loaded and scrolled, and any of them is opened by its link', async () => {
    const { service, webhook } = await retrying(3_000);
    const target = service.deliveries().at(-900)?.id ?? '';

    const { page } = await openPage(service, `?delivery=${target}`);
    const link = page.locator(`[data-row="${target}"]`);
    await link.waitFor();
    const inView = await link.evaluate((row) => {
      const box = row.getBoundingClientRect();
      return box.top > 0 && box.bottom < innerHeight;
    });
    expect(inView).toBe(true);
    expect(await link.getAttribute('href')).toBe(`/?delivery=${target}`);
    await button(page, 'Close delivery').click();
    await expectFocus(page, new RegExp(`data-row="${target}"`));

    // One tab stop for all rows, and arrow keys between them.
    expect(await page.locator('tbody [tabindex="0"]').count()).toBe(1);
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Home');
    await expectFocus(page, /data-row=/);
    expect(await page.locator('.table-frame').evaluate((frame) => frame.scrollTop)).toBeLessThan(2);

    await button(page, 'All 1,000').waitFor();
    await page.getByText('1,000 of 3,000 shown').waitFor();
    await button(page, `Delete ${webhook.url}`).click();
    await page.getByText('Delete webhook and cancel 3,000 pending retries?').waitFor();
    await button(page, 'Keep').click();

    for (const known of ['2,000 of', undefined]) {
      await button(page, 'Load older').click();
      if (known) await page.getByText(known).waitFor();
      else await page.getByText('of 3,000 shown').waitFor({ state: 'detached' });
    }
    await button(page, 'All 3,000').waitFor();
    expect(await nodes(page)).toBeLessThan(3_000);
    const seen = await scroll(page);
    expect(Math.min(...seen)).toBeGreaterThan(10);
    expect(await nodes(page)).toBeLessThan(3_000);
  });
});

describeInChromium('rows that stay', () => {
  test('move down for a new one, and show which of them is open', async () => {
    const { service } = await retrying(3);
    await until(() => service.deliveries().every(({ status }) => status === 'retrying'));
    const { page } = await openPage(service);
    const rows = page.locator('tr.row');
    const tops = () => rows.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
    const [first = 0, second = 0, third = 0] = await tops();
    const height = second - first;
    expect([height > 0, third - second]).toEqual([true, height]);

    await service.trigger('a.two', { payload: {} });
    await row(page, 'a.two').waitFor();
    expect((await tops()).sort((a, b) => a - b)).toEqual([0, 1, 2, 3].map((index) => first + index * height));

    await rows.first().locator('a').focus();
    await page.keyboard.press('ArrowDown');
    await page.locator('tbody a:focus[tabindex="0"]').waitFor();
    expect(await page.locator('tbody [tabindex="0"]').count()).toBe(1);

    for (const at of [1, 2]) {
      await rows.nth(at).locator('a').click();
      await page.locator('.detail').waitFor();
      await page.locator('tr.row[aria-current]').waitFor();
      const open = await rows.evaluateAll((all) => all.map((one) => one.hasAttribute('aria-current')));
      expect(open).toEqual([0, 1, 2, 3].map((index) => index === at));
    }
  });
});

describeInChromium('rows on a phone', () => {
  test('fill the screen after the panels above them were closed', async () => {
    const { service } = await retrying(60);
    const { page } = await openPage(service, '', { viewport: { width: 390, height: 844 } });
    const panels = ['#trigger > summary', '#webhooks > summary'];
    for (const panel of panels) await page.locator(panel).click();
    await page.locator('#trigger').getByLabel('Count').waitFor();
    const rows = await page.locator('tr.row').count();
    for (const panel of panels) await page.locator(panel).click();
    await until(async () => (await page.locator('tr.row').count()) > rows);
  });
});

describeInChromium('the highlight of new rows', () => {
  test('is for the few that arrive, not for older ones that are loaded, and not for a burst', async () => {
    const { service } = await retrying(1_003, 'a.old');
    const { page } = await openPage(service);
    const highlighted = await page.evaluateHandle(() => {
      const names: (string | undefined)[] = [];
      addEventListener('animationstart', ({ target }) => {
        names.push((target as Element).querySelector('.row-link')?.textContent);
      });
      return names;
    });
    await button(page, 'Load older').click();
    await button(page, 'All 1,003').waitFor();
    await row(page, 'a.old').last().waitFor();
    await page.locator('.table-frame').evaluate((frame) => frame.scrollTo(0, 0));
    await service.trigger('b.new', { payload: {} });
    await row(page, 'b.new').waitFor();
    await service.trigger('c.burst', { payload: {} }, { count: 100 });
    await button(page, 'All 1,104').waitFor();
    await row(page, 'c.burst').first().waitFor();
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
    expect(await highlighted.jsonValue()).toEqual(['b.new']);
  });
});
