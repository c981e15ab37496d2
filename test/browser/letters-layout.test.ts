// The dead-letter page at seven widths, and with spaced text: nothing is clipped or overlaps, and axe-core finds nothing.
import { expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { findings } from './axe.js';
import { button, describeInChromium, openPage } from './chromium.js';
import { letterApp, letterScene, pressReplayAll } from './letter-app.js';
import { faultsOf, layoutFaults, opening, SCREENS, type Views } from './measure.js';

const wouldProcess = (page: Page) =>
  page
    .getByRole('dialog')
    .getByText(/would go to a handler/)
    .first();

async function openLetter(page: Page, event: string): Promise<void> {
  await page.locator('.row-link').filter({ hasText: event }).first().click();
  await page.locator('.facts').waitFor();
}

/** The report comes last, because a replay changes the letters. */
const VIEWS: Views = {
  'the list': (page) => page.locator('tr.row').nth(9).waitFor(),
  'no match': async (page) => {
    await page.getByLabel('Find dead letters').fill('evt_0 event:refund.*');
    await page.keyboard.press('Enter');
    await page.getByText('No dead letter matches.').waitFor();
  },
  'the tombstones': async (page) => {
    await button(page, 'Discarded').click();
    await page.getByText('test data of the migration').waitFor();
  },
  'a letter that does not fit': (page) => openLetter(page, 'payout.failed'),
  'a letter that is revealed': async (page) => {
    await openLetter(page, 'transaction.paid');
    await button(page, 'Reveal values').click();
    await page.getByLabel('Body', { exact: true }).waitFor();
  },
  'what a replay would do': async (page) => {
    await pressReplayAll(page);
    await wouldProcess(page).waitFor();
  },
  'the form that discards': async (page) => {
    await button(page, 'Discard all 10').click();
    await button(page, 'Discard 10 dead letters for good').waitFor();
  },
  'the shortcuts': async (page) => {
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
  },
  'the report of a replay': async (page) => {
    await pressReplayAll(page);
    await wouldProcess(page).waitFor();
    await page.keyboard.press('Enter');
    await button(page, 'Done').waitFor();
  },
};

describeInChromium.each(SCREENS)('on %s', (_kind, screens) => {
  test('each view is whole, also with spaced text, and axe-core finds nothing in it', async () => {
    const app = await letterScene();
    const { page } = await openPage(app, '', opening(screens));
    expect(await faultsOf(page, VIEWS, screens)).toEqual([]);
  });
});

function textEnd(locator: Locator): Promise<number> {
  return locator.evaluate((element) => {
    const text = document.createRange();
    text.selectNodeContents(element);
    return text.getBoundingClientRect().right;
  });
}

describeInChromium('the page', () => {
  test('without letters is whole', async () => {
    const { page } = await openPage(await letterApp());
    await page.getByText('An authentic event that is not processed').waitFor();
    expect([...(await layoutFaults(page)), ...(await findings(page))]).toEqual([]);
    // Only the heading says it.
    expect(await page.getByText(/no dead letters|nothing/i).count()).toBe(0);
    // The text of a quiet button ends at the edge.
    const search = await page.locator('.search').boundingBox();
    const edge = (search?.x ?? 0) + (search?.width ?? 0) - 24;
    expect(Math.abs((await textEnd(button(page, 'Refresh'))) - edge)).toBeLessThan(2);
  });

  test('with its groups unfolded on a phone is whole', async () => {
    const { page } = await openPage(await letterScene(), '', { viewport: { width: 390, height: 844 } });
    await page.locator('tr.row').first().waitFor();
    await page.locator('details.panel').evaluate((panel) => panel.setAttribute('open', ''));
    expect(await layoutFaults(page)).toEqual([]);
  });

  test('shows the focus that the keyboard moves, as an outline over the whole row', async () => {
    const { page } = await openPage(await letterScene());
    await page.locator('tr.row').first().waitFor();
    await page.keyboard.press('j');
    const focused = page.locator('.row-link').first();
    expect(await focused.evaluate((row) => getComputedStyle(row, '::after').outlineStyle)).toBe('solid');
  });
});
