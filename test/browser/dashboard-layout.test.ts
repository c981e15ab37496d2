// The simulator page at seven widths, with spaced text, zoomed and in forced colours: nothing is clipped or overlaps, and axe-core finds nothing.
import { expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { simulator } from '../tools/simulator/world.js';
import { findings } from './axe.js';
import { button, describeInChromium, openPage, row } from './chromium.js';
import { faultsOf, layoutFaults, opening, SCREENS, type Views } from './measure.js';
import { busy, LONG_NAME, scene } from './scene.js';

const dialog = (opener: string) => async (page: Page) => {
  // On a narrow screen the panels start closed.
  await page.locator('details.panel').evaluateAll((all) => all.map((one) => one.setAttribute('open', '')));
  await button(page, opener).click();
  await page.getByRole('dialog').waitFor();
};

const detail = (text: string, tab: string) => async (page: Page) => {
  await row(page, text).first().locator('.row-link').click();
  await page.getByRole('tab', { name: tab }).click();
};

const MAIN: Views = {
  'the list': (page) => page.locator('tr.row').nth(7).waitFor(),
  'a failed delivery, Response': detail('payout.failed', 'Response'),
  'an injected fault, Signature': detail('injected fault', 'Signature'),
};
const VIEWS: Views = {
  ...MAIN,
  'a search': (page) => page.getByLabel('Search deliveries').fill('foo:bar event:a.*'),
  'a delivery that is retried, Request': detail('Retrying', 'Request'),
  'Edit payload': dialog('Edit payload'),
  'Register webhook': dialog('Register webhook'),
  'Add fault': dialog('Add fault'),
  'Rotate private key': dialog('Rotate private key'),
  'an invalid payload': async (page) => {
    await dialog('Edit payload')(page);
    await page.getByRole('textbox', { name: 'Payload' }).fill('{');
  },
  'the shortcuts': (page) => page.keyboard.press('?'),
};

async function boxOf(locator: Locator) {
  const box = await locator.boundingBox();
  if (!box) throw new Error('It is not shown.');
  return { ...box, right: box.x + box.width, bottom: box.y + box.height };
}

describeInChromium.each(SCREENS)('on %s', (_kind, screens) => {
  test('each view is whole, also with spaced text, and axe-core finds nothing in it', async () => {
    const { page } = await openPage(await scene(), '', opening(screens));
    expect(await faultsOf(page, VIEWS, screens)).toEqual([]);
  });

  test('a row tells deliveries apart, in columns that align; the first one is near the top', async () => {
    const service = await busy();
    const { page } = await openPage(service, '', opening(screens));
    const rows = row(page, '503').filter({ hasText: LONG_NAME });
    for (const { width, height } of screens) {
      await page.setViewportSize({ width, height });
      for (const text of ['/ledger/inbound', '503', /next retry in \d\d m/])
        await rows.first().getByText(text).first().waitFor();
      const phone = width < 500;
      // Two lines, so that the name is whole.
      const narrow = width < 1280;
      const heights = await page
        .locator('tr.row')
        .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
      expect(new Set(heights)).toEqual(new Set([narrow ? 56 : 40]));
      const first = await boxOf(page.locator('tr.row').first());
      expect(first.y).toBeLessThan(phone ? 270 : 260);
      // A height of 900 px has room for 16 rows, or 11 of two lines.
      expect((900 - first.y) / first.height).toBeGreaterThan(narrow ? 11 : 16);
      const lefts = await page
        .locator(narrow ? 'tr.row .cell-target' : '.cell-target')
        .evaluateAll((all) => new Set(all.map((one) => one.getBoundingClientRect().x)).size);
      expect(lefts).toBe(1);
      if (width < 1024) continue;
      await rows
        .first()
        .getByRole('button', { name: /^Retry now/ })
        .waitFor();
      expect((await boxOf(button(page, 'Trigger event'))).bottom).toBeLessThanOrEqual(height);
    }
  });
});

describeInChromium.each([1280, 1440])('at %i px', (width) => {
  test('the list stays beside the delivery that is open, with whole names, attempts and times, and the detail does not stretch', async () => {
    const service = await busy();
    const { page } = await openPage(service, '', { viewport: { width, height: 800 } });
    await row(page, 'Retrying').first().locator('.row-link').click();
    const list = await boxOf(page.locator('.list'));
    const shown = await boxOf(page.locator('.detail'));
    expect(shown.x).toBeGreaterThanOrEqual(list.right - 1);
    expect([list.width, shown.width].filter((each) => each < 420)).toEqual([]);
    for (const path of ['/hooks', '/ledger/inbound']) {
      const target = page.locator('.path').filter({ hasText: path }).first();
      expect(await target.evaluate((one) => one.scrollWidth - one.clientWidth)).toBeLessThanOrEqual(0);
    }
    await page.locator('tr.row .cell-attempts').filter({ hasText: '1/4' }).first().waitFor();
    const delivered = row(page, 'Delivered').first();
    await delivered
      .locator('.cell-when')
      .getByText(/^\d\d:\d\d:\d\d$/)
      .waitFor();
    const cut = '.row .cell-event > * > :first-child';
    const isCut = (all: Element[]) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length;
    expect(await page.locator(cut).evaluateAll(isCut)).toBe(0);
    await page.locator('.tab-panel').waitFor();
    const title = await boxOf(page.locator('#detail-title'));
    expect(title.y - shown.y).toBeLessThan(40);
    // The actions stay on one line.
    const actions = page.locator('.detail > header .cluster:has(.primary)');
    expect((await boxOf(actions)).height).toBe((await boxOf(actions.locator('.primary'))).height);
    // The same before anything is loaded.
    await page.route('**/_sim/deliveries/*', () => {});
    await page.goto(`${service.dashboardUrl}?delivery=${service.deliveries()[0]?.id}`);
    expect((await boxOf(page.locator('#detail-title'))).y).toBe(title.y);
  });
});

describeInChromium('the page', () => {
  test('in forced colours shows what is chosen', async () => {
    const { page } = await openPage(await scene(), '', { forcedColors: 'active' });
    expect(await faultsOf(page, MAIN, [])).toEqual([]);
    expect(await findings(page)).toEqual([]);
    await row(page, 'payout.failed').first().locator('.row-link').hover();
    const ground = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((one) => getComputedStyle(one).backgroundColor);
    const chosen = await ground('.row.selected');
    const [tab, otherTab] = ['[role=tab][aria-selected=true]', '[role=tab][aria-selected=false]'];
    for (const same of ['[aria-pressed=true]', '.attempt[aria-current]', tab, '.button.primary'])
      expect([same, await ground(same)]).toEqual([same, chosen]);
    for (const other of ['.row:not(.selected)', '[aria-pressed=false]', otherTab])
      expect([other, await ground(other)]).not.toEqual([other, chosen]);
  });

  test('zoomed to 200 % scrolls nothing sideways, and everything can be reached', async () => {
    const { page } = await openPage(await scene(), '', { viewport: { width: 720, height: 450 } });
    const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(await overflow()).toBe(0);
    await page.locator('#trigger > summary').click();
    await button(page, 'Trigger event').click();
    await page.getByText('Triggered 1 event').waitFor();
    await page.locator('.row-link').first().click();
    await page.getByRole('tab', { name: 'Signature' }).click();
    expect(await overflow()).toBe(0);
    expect(await findings(page)).toEqual([]);
  });

  test('gives a form the width of a form, and all dialogs one size of title, whichever part opens them', async () => {
    const { page } = await openPage(await simulator());
    const sizes = new Set<string>();
    for (const opener of ['Register webhook', 'Add fault', 'Rotate private key', 'Edit payload']) {
      await button(page, opener).click();
      sizes.add(await page.locator('dialog h2').evaluate((title) => getComputedStyle(title).fontSize));
      if (opener !== 'Edit payload') expect((await boxOf(page.getByRole('dialog'))).width).toBe(34 * 16);
      await page.keyboard.press('Escape');
    }
    expect(sizes.size).toBe(1);
  });

  test('cuts no response, no fault and no event name behind a tag, with a delivery open or without', async () => {
    const { page } = await openPage(await scene());
    const cut = () =>
      page
        .locator('.cell-code, .fault-banner p')
        .evaluateAll((all) =>
          all.filter((one) => one.scrollWidth > one.clientWidth).map(({ textContent }) => textContent),
        );
    await row(page, 'ECONNREFUSED').first().waitFor();
    const name = row(page, 'sandbox').locator('.row-link > :first-child');
    for (const open of [false, true]) {
      if (open) await row(page, 'payout.failed').first().locator('.row-link').click();
      for (const width of [360, 1024, 1280, 1360, 1920]) {
        await page.setViewportSize({ width, height: 800 });
        expect({ width, cut: await cut() }).toEqual({ width, cut: [] });
        if (open && width >= 1280)
          expect(await name.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
      }
    }
  });

  test('on a phone ends the lines of a row at the same edge, and has a short banner', async () => {
    const { page } = await openPage(await scene(), '', { viewport: { width: 360, height: 740 } });
    await row(page, 'ECONNREFUSED').first().waitFor();
    const ends = await page
      .locator('tr.row :is(.cell-code, .cell-when b, .cell-when:not(:has(b)))')
      .evaluateAll((all) => {
        const text = document.createRange();
        const endOf = (one: Element) => {
          text.selectNodeContents(one);
          return Math.round(text.getBoundingClientRect().right);
        };
        return [...new Set(all.map(endOf))];
      });
    expect(ends).toHaveLength(1);
    // Two lines, or three in a wide font such as DejaVu Sans.
    expect((await boxOf(page.locator('.fault-banner p'))).height).toBeLessThan(64);
  });

  test('of no deliveries is whole, light and dark', async () => {
    const { page } = await openPage(await simulator());
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect([...(await layoutFaults(page)), ...(await findings(page))]).toEqual([]);
    }
  });
});
