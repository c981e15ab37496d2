// What axe-core finds in seven states of the page, light and dark; and zoomed to 200 %.
import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { simulator } from '../tools/simulator/world.js';
import { findings } from './axe.js';
import { describeInChromium, openPage } from './chromium.js';
import { onScreens } from './measure.js';
import { scene } from './scene.js';

const button = (page: Page, name: string) => page.getByRole('button', { name });

const STATES: readonly [name: string, show: (page: Page) => Promise<unknown>][] = [
  ['a busy list', async (page) => page.getByLabel('Search deliveries').fill('foo:bar')],
  [
    'a failed delivery',
    async (page) => {
      await button(page, 'Failed 1').click();
      await page.locator('.row-button').first().click();
      await page.getByRole('tab', { name: 'Response' }).click();
    },
  ],
  [
    'a delivery with a fault, and its signature',
    async (page) => {
      await page
        .locator('tr.row')
        .filter({ hasText: 'injected fault' })
        .locator('.row-button')
        .first()
        .click();
      await page.getByRole('tab', { name: 'Signature' }).click();
    },
  ],
  ['the form of a webhook', async (page) => button(page, 'Register webhook').click()],
  ['the form of a fault', async (page) => button(page, 'Add fault').click()],
  [
    'an invalid payload',
    async (page) => {
      await button(page, 'Edit payload').click();
      await page.getByRole('textbox', { name: 'Payload' }).fill('{');
    },
  ],
  ['About', async (page) => button(page, 'About').click()],
];

const themes = (['light', 'dark'] as const).map((colorScheme) => ({ width: 1440, height: 900, colorScheme }));

describeInChromium('light and dark, axe-core finds nothing in', () => {
  test('the empty list', async () => {
    const { page } = await openPage(await simulator());
    expect(await onScreens(page, themes, findings)).toEqual([]);
  });

  test.each(STATES)('%s', async (_name, show) => {
    const { page } = await openPage(await scene());
    await show(page);
    expect(await onScreens(page, themes, findings)).toEqual([]);
  });
});

describeInChromium('zoomed to 200 %', () => {
  const viewport = { width: 720, height: 450 };

  test('nothing scrolls sideways, and everything can be reached', async () => {
    const { page } = await openPage(await scene(), '', { viewport });
    const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(await overflow()).toBe(0);
    await page.locator('#trigger > summary').click();
    await button(page, 'Trigger event').click();
    await page.getByText('Triggered 1 event').waitFor();
    await page.locator('.row-button').first().click();
    await page.getByRole('tab', { name: 'Signature' }).click();
    expect(await overflow()).toBe(0);
    expect(await findings(page)).toEqual([]);
  });
});
