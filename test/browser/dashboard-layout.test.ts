// The dashboard at four widths, light and dark, and with spaced text: nothing is clipped or overlaps.
import { expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { busy, LONG_NAME } from './busy.js';
import { describeInChromium, openPage } from './chromium.js';
import { layoutFaults, onScreens, opening, SCREENS, type Screen, spaceText } from './measure.js';

const retrying = (page: Page) => page.locator('tr.row').filter({ hasText: 'Retrying' });

async function boxOf(locator: Locator) {
  const box = await locator.boundingBox();
  if (!box) throw new Error('It is not shown.');
  return { ...box, right: box.x + box.width, bottom: box.y + box.height };
}

/** The list, then each tab of a delivery, then each form: what is wrong with them on one screen after the other. */
async function expectSound(page: Page, screens: readonly Screen[]): Promise<void> {
  const faults = () => onScreens(page, screens, layoutFaults);
  await retrying(page).nth(3).waitFor();
  expect(await faults()).toEqual([]);
  await retrying(page).first().locator('.row-button').click();
  for (const tab of ['Request', 'Response', 'Signature']) {
    await page.getByRole('tab', { name: tab }).click();
    expect(await faults()).toEqual([]);
  }
  await page.getByRole('button', { name: 'Close delivery' }).click();
  await page.locator('details.panel').evaluateAll((all) => all.map((each) => each.setAttribute('open', '')));
  expect(await faults()).toEqual([]);
  for (const opener of ['Edit payload', 'Register webhook', 'Add fault', 'Shortcuts ?', 'About']) {
    await page.getByRole('button', { name: opener }).click();
    await page.getByRole('dialog').waitFor();
    expect(await faults()).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }
}

describeInChromium.each(SCREENS)('on %s', (_kind, screens) => {
  test('nothing in the list, the detail and the forms is clipped or overlaps', async () => {
    const { page } = await openPage(await busy(), '', opening(screens));
    await expectSound(page, screens);
  });

  test('nor with the text spacing of WCAG 1.4.12', async () => {
    const { page } = await openPage(await busy(), '', opening(screens));
    await spaceText(page);
    const light = screens.filter(({ colorScheme }) => colorScheme === 'light');
    await expectSound(page, light);
  });

  test('a row shows its event, target, short id, code, countdown and button', async () => {
    const { page } = await openPage(await busy(), '', opening(screens));
    const row = retrying(page).filter({ hasText: LONG_NAME }).first();
    await row.waitFor();
    const id = (await row.locator('.row-button').getAttribute('data-row')) ?? '';
    const parts = async () => {
      for (const text of [LONG_NAME, id.slice(0, 8), '/ledger/inbound', '503', /next retry in 5\d s/]) {
        await row.getByText(text).and(page.locator(':not(.visually-hidden)')).first().waitFor();
      }
      await row.getByRole('button', { name: /^Retry now/ }).waitFor();
      return [];
    };
    await onScreens(page, screens, parts);
  });

  test('the button that triggers an event is in view, or one click away', async () => {
    const { page } = await openPage(await busy(), '', opening(screens));
    if (screens.some(({ width }) => width < 1024)) await page.locator('#trigger > summary').click();
    const place = async (_page: Page, { height }: Screen) => {
      const trigger = await boxOf(page.getByRole('button', { name: 'Trigger event' }));
      expect(trigger.bottom).toBeLessThanOrEqual(height);
      const [first, second] = [page.locator('#trigger'), page.locator('#webhooks')];
      expect((await boxOf(first)).y).toBeLessThanOrEqual((await boxOf(second)).y);
      return [];
    };
    await onScreens(page, screens, place);
  });
});

describeInChromium.each([1280, 1440])('at %i px', (width) => {
  test('the list stays beside the delivery that is open, and tells deliveries to two endpoints apart', async () => {
    const service = await busy();
    const { page } = await openPage(service, '', { viewport: { width, height: 800 } });
    await retrying(page).first().locator('.row-button').click();
    const list = await boxOf(page.locator('.list'));
    const detail = await boxOf(page.locator('.detail'));
    expect(detail.x).toBeGreaterThanOrEqual(list.right - 1);
    expect([list.width, detail.width].filter((each) => each < 420)).toEqual([]);
    for (const path of ['/hooks', '/ledger/inbound']) {
      const target = page.locator('.cell-target').filter({ hasText: path }).first();
      const { whole, shown } = await target.evaluate((cell) => ({
        whole: cell.scrollWidth,
        shown: cell.clientWidth,
      }));
      expect(whole).toBeLessThanOrEqual(shown);
    }
    await page.locator('tr.row .cell-code').filter({ hasText: '503' }).first().waitFor();
  });
});
