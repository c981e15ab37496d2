// The page of dead letters at seven widths, and with spaced text: nothing is clipped or overlaps, and axe-core finds nothing.
import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { findings } from './axe.js';
import { describeInChromium, openPage } from './chromium.js';
import { letterApp, letterScene } from './letter-app.js';
import { faultsOf, layoutFaults, opening, SCREENS, type View } from './measure.js';

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const wouldProcess = (page: Page) =>
  page
    .getByRole('dialog')
    .getByText(/would go to a handler/)
    .first();

async function openLetter(page: Page, event: string | RegExp): Promise<void> {
  await page.locator('.row-link').filter({ hasText: event }).first().click();
  await page.locator('.facts').waitFor();
}

/** A replay changes the letters, so its report comes last. */
const VIEWS: readonly View[] = [
  { name: 'the list', show: async (page) => page.locator('tr.row').nth(9).waitFor() },
  {
    name: 'no match',
    show: async (page) => {
      await page.getByLabel('Find dead letters').fill('evt_0 event:refund.*');
      await page.keyboard.press('Enter');
      await page.getByText('No dead letter matches.').waitFor();
    },
  },
  {
    name: 'the tombstones',
    show: async (page) => {
      await button(page, 'Discarded').click();
      await page.getByText('test data of the migration').waitFor();
    },
  },
  { name: 'a letter that does not fit', show: async (page) => openLetter(page, 'payout.failed') },
  {
    name: 'a letter that is revealed',
    show: async (page) => {
      await openLetter(page, 'transaction.paid');
      await button(page, 'Reveal values').click();
      await page.getByLabel('Body', { exact: true }).waitFor();
    },
  },
  {
    name: 'what a replay would do',
    show: async (page) => {
      await page.keyboard.press('a');
      await wouldProcess(page).waitFor();
    },
  },
  {
    name: 'the form that discards',
    show: async (page) => {
      await button(page, 'Discard all 10').click();
      await button(page, 'Discard 10 dead letters for good').waitFor();
    },
  },
  {
    name: 'the shortcuts',
    show: async (page) => {
      await page.keyboard.press('?');
      await page.getByRole('dialog').waitFor();
    },
  },
  {
    name: 'the report of a replay',
    show: async (page) => {
      await page.keyboard.press('a');
      await wouldProcess(page).waitFor();
      await page.keyboard.press('Enter');
      await button(page, 'Done').waitFor();
    },
  },
];

describeInChromium.each(SCREENS)('on %s', (_kind, screens) => {
  test('each view is whole, also with spaced text, and axe-core finds nothing in it', async () => {
    const app = await letterScene();
    const { page } = await openPage(app, '', opening(screens));
    expect(await faultsOf(page, app.dashboardUrl, VIEWS, screens)).toEqual([]);
  });
});

describeInChromium('the page', () => {
  test('without letters, and with its groups unfolded, is whole', async () => {
    const { page } = await openPage(await letterApp());
    await page.getByText('No dead letters', { exact: true }).waitFor();
    expect([...(await layoutFaults(page)), ...(await findings(page))]).toEqual([]);
    const app = await letterScene();
    const phone = await openPage(app, '', { viewport: { width: 390, height: 844 } });
    await phone.page.locator('tr.row').first().waitFor();
    await phone.page.locator('details.panel').evaluate((panel) => panel.setAttribute('open', ''));
    expect(await layoutFaults(phone.page)).toEqual([]);
  });

  test('shows the focus that the keyboard moves, as an outline over the whole row', async () => {
    const { page } = await openPage(await letterScene());
    await page.locator('tr.row').first().waitFor();
    await page.keyboard.press('j');
    const focused = page.locator('.row-link').first();
    expect(await focused.evaluate((row) => getComputedStyle(row, '::after').outlineStyle)).toBe('solid');
  });
});
