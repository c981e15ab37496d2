// The page of dead letters at four widths, light and dark, and with spaced text: whole, and sound to axe-core.
import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { findings } from './axe.js';
import { describeInChromium, openPage } from './chromium.js';
import { letterApp, letterScene } from './letter-app.js';
import { layoutFaults, onScreens, opening, SCREENS, spaceText } from './measure.js';

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const wouldProcess = (page: Page) =>
  page
    .getByRole('dialog')
    .getByText(/would go to a handler/)
    .first();

async function openLetter(page: Page, event: string | RegExp): Promise<void> {
  await page.locator('.row-button').filter({ hasText: event }).first().click();
  await page.locator('.facts').waitFor();
}

/** Each view: how to get there from the list. */
const VIEWS: readonly (readonly [name: string, show: (page: Page) => Promise<unknown>])[] = [
  ['the list', async (page) => page.locator('tr.row').nth(9).waitFor()],
  [
    'no match',
    async (page) => {
      await page.locator('#find').evaluate((panel) => panel.setAttribute('open', ''));
      await page.getByLabel('Event ID').fill('evt_0');
      await button(page, 'Find').click();
      await page.getByText('No dead letter matches.').waitFor();
    },
  ],
  [
    'the tombstones',
    async (page) => {
      await button(page, 'Discarded').click();
      await page.getByText('test data of the migration').waitFor();
    },
  ],
  ['a letter that does not fit', async (page) => openLetter(page, 'payout.failed')],
  [
    'a letter that is revealed',
    async (page) => {
      await openLetter(page, 'transaction.paid');
      await button(page, 'Reveal values').click();
      await page.getByLabel('Body', { exact: true }).waitFor();
    },
  ],
  [
    'what a replay would do',
    async (page) => {
      await page.keyboard.press('a');
      await wouldProcess(page).waitFor();
    },
  ],
  [
    'the report of a replay',
    async (page) => {
      await page.keyboard.press('a');
      await wouldProcess(page).waitFor();
      await page.keyboard.press('Enter');
      await button(page, 'Done').waitFor();
    },
  ],
  [
    'the form that discards',
    async (page) => {
      await button(page, 'Discard all 10').click();
      await button(page, 'Discard 10 dead letters for good').waitFor();
    },
  ],
  [
    'the shortcuts',
    async (page) => {
      await page.keyboard.press('?');
      await page.getByRole('dialog').waitFor();
    },
  ],
];

describeInChromium.each(SCREENS)('on %s', (_kind, screens) => {
  // The text spacing of WCAG 1.4.12, at each width that lays out the page in its own way.
  const spaced = screens.filter(({ width, colorScheme }) => width !== 1024 && colorScheme === 'light');

  test.each(VIEWS)('%s is whole, and axe-core finds nothing in it', async (_name, show) => {
    const { page } = await openPage(await letterScene(), '', opening(screens));
    await page.locator('tr.row').first().waitFor();
    await show(page);
    expect(await onScreens(page, screens, layoutFaults, findings)).toEqual([]);
    await spaceText(page);
    expect(await onScreens(page, spaced, layoutFaults)).toEqual([]);
  });

  test('the empty page is whole, and axe-core finds nothing in it', async () => {
    const { page } = await openPage(await letterApp(), '', opening(screens));
    await page.getByText('No dead letters', { exact: true }).waitFor();
    expect(await onScreens(page, screens, layoutFaults, findings)).toEqual([]);
  });

  test('the search and the groups unfold, and nothing is clipped', async () => {
    const { page } = await openPage(await letterScene(), '', opening(screens));
    await page.locator('tr.row').first().waitFor();
    await page
      .locator('details.panel')
      .evaluateAll((all) => all.map((each) => each.setAttribute('open', '')));
    expect(await onScreens(page, screens, layoutFaults)).toEqual([]);
    const focused = page.locator('.row-button').first();
    await page.keyboard.press('j');
    // By keyboard the focus is seen: an outline over the whole row.
    const outline = () => focused.evaluate((row) => [getComputedStyle(row, '::after').outlineStyle]);
    const seen = await onScreens(page, screens, outline);
    expect(seen).toEqual(screens.map(() => expect.stringMatching(/: solid$/)));
  });
});
