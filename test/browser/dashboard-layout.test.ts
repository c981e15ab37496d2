// The layout at four widths, light and dark, and with spaced text: nothing is clipped, nothing overlaps, and what matters is in view.
import { expect, test } from '@jest/globals';
import type { Simulator } from 'payment-webhooks/simulator';
import type { Locator, Page } from 'playwright-core';
import { busy, LONG_NAME } from './busy.js';
import { describeInChromium, openPage } from './chromium.js';
import { layoutFaults, SCREENS, spaceText } from './measure.js';

const retrying = (page: Page) => page.locator('tr.row').filter({ hasText: 'Retrying' });

async function boxOf(locator: Locator) {
  const box = await locator.boundingBox();
  if (!box) throw new Error('It is not shown.');
  return { ...box, right: box.x + box.width, bottom: box.y + box.height };
}

async function expectSoundDetail(page: Page): Promise<void> {
  await retrying(page).first().locator('.row-button').click();
  for (const tab of ['Request', 'Response', 'Signature']) {
    await page.getByRole('tab', { name: tab }).click();
    expect(await layoutFaults(page)).toEqual([]);
  }
  await page.getByRole('button', { name: 'Close delivery' }).click();
}

async function expectSoundForms(page: Page): Promise<void> {
  await page.locator('details.panel').evaluateAll((all) => all.map((each) => each.setAttribute('open', '')));
  expect(await layoutFaults(page)).toEqual([]);
  for (const opener of ['Edit payload', 'Register webhook', 'Add fault', 'Shortcuts ?', 'About']) {
    await page.getByRole('button', { name: opener }).click();
    await page.getByRole('dialog').waitFor();
    expect(await layoutFaults(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }
}

describeInChromium.each(SCREENS)('at $width px, $colorScheme', ({ width, height, colorScheme }) => {
  const open = async (service: Simulator, path = '') =>
    (await openPage(service, path, { colorScheme, viewport: { width, height } })).page;

  test('nothing in the list, the detail and the forms is clipped or overlaps', async () => {
    const service = await busy();
    const page = await open(service);
    await retrying(page).nth(3).waitFor();
    expect(await layoutFaults(page)).toEqual([]);
    await expectSoundDetail(page);
    await expectSoundForms(page);
  });

  test('a row shows its event, target, short id, code, countdown and button', async () => {
    const service = await busy();
    const page = await open(service);
    const row = retrying(page).filter({ hasText: LONG_NAME }).first();
    await row.waitFor();
    const id = (await row.locator('.row-button').getAttribute('data-row')) ?? '';
    for (const text of [LONG_NAME, id.slice(0, 8), '/ledger/inbound', '503', /next retry in 5\d s/]) {
      await row.getByText(text).and(page.locator(':not(.visually-hidden)')).first().waitFor();
    }
    await row.getByRole('button', { name: /^Retry now/ }).waitFor();
  });

  test('the button that triggers an event is in view, or one click away', async () => {
    const service = await busy();
    const page = await open(service);
    if (width < 1024) await page.locator('#trigger > summary').click();
    const trigger = await boxOf(page.getByRole('button', { name: 'Trigger event' }));
    expect(trigger.bottom).toBeLessThanOrEqual(height);
    expect((await boxOf(page.locator('#trigger'))).y).toBeLessThanOrEqual(
      (await boxOf(page.locator('#webhooks'))).y,
    );
  });
});

describeInChromium.each([390, 1024, 1280])('at %i px, with the text spacing of WCAG 1.4.12', (width) => {
  test('nothing in the list, the detail and the forms is clipped or overlaps', async () => {
    const service = await busy();
    const { page } = await openPage(service, '', { viewport: { width, height: 844 } });
    await spaceText(page);
    await retrying(page).nth(3).waitFor();
    expect(await layoutFaults(page)).toEqual([]);
    await expectSoundDetail(page);
    await expectSoundForms(page);
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
