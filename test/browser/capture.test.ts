// The page while it captures: the empty state, what was found, the retry schedule, the comparison; and that of the simulator.
import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { signatureFinder } from '../../src/tools/cli/find-signature.js';
import { startCapture } from '../../src/tools/simulator/capture.js';
import { eventBody, KEY, strange } from '../tools/cli/capturing.js';
import { afterwards, endpoint, opensslHmac, simulator } from '../tools/simulator/world.js';
import { findings } from './axe.js';
import { button, describeInChromium, openPage, row } from './chromium.js';
import { faultsOf, opening, SCREENS, type Views } from './measure.js';

/** A page that captures. @param answers of the app; none without it */
async function capture(...answers: number[]) {
  const app = answers.length > 0 ? await endpoint(...answers) : undefined;
  const options = { path: '/hooks', forward: app?.url, find: signatureFinder([KEY]) };
  const service = await startCapture({ port: 0 }, options);
  afterwards(() => service.close());
  const port = Number(new URL(service.baseUrl).port);
  const send = (body: string, header = 'X-ACME-SIGNATURE', key = KEY) =>
    strange(port, {
      body,
      headers: { [header]: opensslHmac(body, key), Authorization: 'Bearer top-secret' },
    });
  return { service, app, send };
}

/** One event three times, the last time with another amount; one of a wrong key; and one that is no event. */
async function scene() {
  const { send, ...rest } = await capture(500, 200);
  const body = eventBody({ id: 'evt_same' });
  for (const each of [body, body, body.replace('12.50', '13.00')]) await send(each);
  await send(eventBody(), 'X-ACME-SIGNATURE', 'pri_live_stranger1');
  await send('not JSON');
  return { ...rest, send };
}

const open = async (page: Page) => {
  await row(page, 'transaction.paid').last().locator('.row-link').click();
  await page.getByText('The signature is in X-ACME-SIGNATURE.').first().waitFor();
};
const compare = async (page: Page) => {
  await open(page);
  await button(page, 'Compare').click();
  await page.getByText('Compared:').waitFor();
};

const VIEWS: Views = {
  'the list': (page) => row(page, 'not an event').waitFor(),
  'a delivery': open,
  'its signature': async (page) => {
    await open(page);
    await page.getByRole('tab', { name: 'Signature' }).click();
  },
  'the comparison': compare,
};

describeInChromium('a captured delivery', () => {
  test('appears on the page that waits for it, with the header that has its signature', async () => {
    const { service, send } = await capture();
    const { page } = await openPage(service);
    await page.getByRole('heading', { name: 'Webhook capture' }).waitFor();
    await page.getByText(`cloudflared tunnel --url ${service.baseUrl}`).waitFor();
    expect(await page.getByRole('button', { name: 'Trigger event' }).count()).toBe(0);
    expect(await findings(page)).toEqual([]);
    await send(eventBody());
    await open(page);
    await page.getByText('Bearer').waitFor({ state: 'detached' });
    expect(await page.getByRole('table', { name: 'Request headers' }).innerText()).toContain('(masked)');
    expect(await page.getByRole('button', { name: /Resend|Edit and resend|Compare/ }).count()).toBe(0);
  });

  test('is listed with the header that has its signature, or without one', async () => {
    const { service } = await scene();
    const { page } = await openPage(service);
    await row(page, 'not an event').waitFor();
    await page.getByRole('columnheader', { name: 'Signature' }).waitFor();
    expect(await page.locator('.row .cell-target').allInnerTexts()).toEqual([
      'X-ACME-SIGNATURE',
      'signature not found',
      'X-ACME-SIGNATURE',
    ]);
  });

  test('shows the pauses and the bodies of its attempts, and is resent to the app', async () => {
    const { service, app } = await scene();
    const { page } = await openPage(service);
    await open(page);
    await page
      .getByText(
        /^The service sent it again after \d.*\. The first and the last: the bodies differ in payload\.transaction\.amount\.$/,
      )
      .waitFor();
    await button(page, 'Resend to my app').click();
    await page.locator('.attempts li').nth(3).getByText('manual').waitFor();
    expect(app?.received.at(-1)?.body).toEqual(app?.received[2]?.body);
  });

  test('is compared with another attempt, or with another delivery', async () => {
    const { service } = await scene();
    const { page } = await openPage(service);
    await compare(page);
    const table = page.getByRole('table', { name: 'What differs' });
    const line = table.getByRole('row', { name: /^payload\.transaction\.amount/ });
    expect((await line.innerText()).split(/\s+/)).toEqual([
      'payload.transaction.amount',
      '"13.00"',
      '"12.50"',
    ]);
    expect(await table.getByRole('row', { name: /^payload\.transaction\.id/ }).count()).toBe(0);
    await page.getByLabel('Compare with').selectOption({ index: 2 });
    await table
      .getByRole('row', { name: /^Event not an event|^Event transaction\.paid not an event/ })
      .waitFor();
  });

  test('is compared on a phone with each path whole, above its two values', async () => {
    const { service } = await scene();
    const { page } = await openPage(service, '', { viewport: { width: 390, height: 844 } });
    await compare(page);
    const line = page.getByRole('row', { name: /^payload\.transaction\.amount/ });
    const [path, one, other] = await line
      .locator('th, td')
      .evaluateAll((cells) => cells.map((cell) => cell.getBoundingClientRect().toJSON()));
    expect(path.bottom).toBeLessThanOrEqual(one.top);
    expect(one.top).toBe(other.top);
    expect(one.width).toBeCloseTo(other.width, 0);
    expect(path.height).toBeLessThanOrEqual(one.height);
  });
});

describeInChromium('two deliveries of the simulator', () => {
  test('are compared side by side', async () => {
    const service = await simulator();
    const { url } = await endpoint(200);
    await service.webhooks.create({ url });
    for (const amount of ['1.00', '2.00'])
      await service.trigger('transaction.paid', { payload: { transaction: { amount } } });
    const { page } = await openPage(service);
    await row(page, 'transaction.paid').first().locator('.row-link').click();
    await button(page, 'Compare').click();
    const line = page.getByRole('row', { name: /^payload\.transaction\.amount/ });
    expect((await line.innerText()).split(/\s+/)).toEqual(['payload.transaction.amount', '"2.00"', '"1.00"']);
  });
});

describeInChromium.each(SCREENS)('on %s', (_kind, screens) => {
  test('each view is whole, also with spaced text, and axe-core finds nothing in it', async () => {
    const { service } = await scene();
    const { page } = await openPage(service, '', opening(screens));
    expect(await faultsOf(page, VIEWS, screens)).toEqual([]);
  });
});

describeInChromium('axe-core', () => {
  test.each([390, 768, 1024, 1440])(
    'finds nothing at %i px, light, dark or in forced colours',
    async (width) => {
      const { service } = await scene();
      const { page } = await openPage(service, '', { viewport: { width, height: 900 } });
      await compare(page);
      const found: string[] = [];
      const check = async () => {
        for (const look of [
          { colorScheme: 'dark' },
          { colorScheme: 'light' },
          { forcedColors: 'active' },
        ] as const) {
          await page.emulateMedia({ forcedColors: 'none', ...look });
          found.push(...(await findings(page)));
        }
        await page.emulateMedia({ forcedColors: 'none' });
      };
      await check();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await check();
      expect(found).toEqual([]);
    },
  );
});
