// Clearing the history and rotating the private key, narrow and wide.
import { expect, test } from '@jest/globals';
import express from 'express';
import { receiver } from 'payment-webhooks';
import type { Page } from 'playwright-core';
import { afterwards, basic, call, simulator, subscribed } from '../tools/simulator/world.js';
import { findings } from './axe.js';
import { button, clipboard, describeInChromium, dialog, expectFocus, openPage, row } from './chromium.js';
import { layoutFaults } from './measure.js';

const SIZES = [
  { width: 390, height: 844 },
  { width: 1280, height: 800 },
];

describeInChromium.each(SIZES)('at $width px', (viewport) => {
  const expectWhole = async (page: Page) =>
    expect([...(await layoutFaults(page)), ...(await findings(page))]).toEqual([]);

  test('the history is cleared after a question, and what is pending stays', async () => {
    const { service } = await subscribed({}, 200, 200, 500, 200);
    for (const name of ['a.one', 'b.two', 'c.pending']) await service.trigger(name, {});
    const [shown] = service.deliveries();
    const { page } = await openPage(service, `?delivery=${shown?.id}`, { viewport });
    await page.locator('#detail-title').waitFor();
    // On a narrow screen the detail covers the list and its button.
    if (viewport.width < 1200) await button(page, 'Close delivery').click();

    await button(page, 'Clear history').click();
    const question = dialog(page, 'Clear history');
    await question.getByText('Delete 2 finished deliveries?').waitFor();
    await question.getByText('1 pending delivery stays, and will be retried.').waitFor();
    await expectWhole(page);
    await question.getByRole('button', { name: 'Keep' }).click();
    await expectFocus(page, /Clear history/);
    expect(service.deliveries()).toHaveLength(3);

    await button(page, 'Hold new deliveries').click();
    await button(page, 'Clear history').click();
    await question.getByRole('button', { name: 'Clear', exact: true }).click();
    await row(page, 'a.one').waitFor({ state: 'detached' });
    await row(page, 'c.pending').waitFor();
    await button(page, 'Hold new deliveries').waitFor();
    await page.locator('#detail-title').waitFor({ state: 'detached' });
    await expectFocus(page, /id="main"/);
    expect(service.deliveries().map(({ event_name }) => event_name)).toEqual(['c.pending']);
    expect(await layoutFaults(page)).toEqual([]);

    await button(page, 'Clear history').click();
    await question.getByText('No delivery is finished yet.').waitFor();
    expect(await question.getByRole('button', { name: 'Clear', exact: true }).isDisabled()).toBe(true);
    await question.getByRole('button', { name: 'Keep' }).click();
    await service.advance('2s');
    await row(page, 'Delivered').waitFor();
    await button(page, 'Clear history').click();
    await question.getByRole('button', { name: 'Clear', exact: true }).click();
    await page.locator('.onboarding').waitFor();
  });

  test('the private key is rotated, shown once, and an endpoint with the old key answers 401', async () => {
    const service = await simulator();
    const hooks = receiver({ privateKey: service.privateKey, logger: false });
    afterwards(() => hooks.close());
    await service.attach(express().post('/hooks', hooks), '/hooks');
    const { page } = await openPage(service, '', { viewport });
    // On a narrow screen the panels start closed.
    await page.locator('#private-key').evaluate((panel) => panel.setAttribute('open', ''));
    await button(page, 'Rotate private key').click();
    const question = dialog(page, 'Rotate private key');
    await question.getByText('An endpoint that knows only the old key answers 401').waitFor();
    await expectWhole(page);
    await question.getByRole('button', { name: 'Keep' }).click();
    expect(service.privateKey).toBe('pri_sim_dev');

    await button(page, 'Rotate private key').click();
    await question.getByRole('button', { name: 'Rotate', exact: true }).click();
    await expectFocus(page, /^<p[^>]*>The new private key/);
    const key = service.privateKey;
    expect(key).not.toBe('pri_sim_dev');
    expect(await question.locator('code.digest').innerText()).toBe(key);
    await expectWhole(page);
    await question.getByRole('button', { name: 'Copy the private key' }).click();
    await question.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await clipboard(page)).toBe(key);
    // A click outside the dialog must not lose the key.
    await page.mouse.click(2, 2);
    await question.locator('code.digest').waitFor();
    await question.getByRole('button', { name: 'Close' }).click();
    await expectFocus(page, /Rotate private key/);
    await page.locator('code.digest').waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain(key);

    const me = (known: string) => call(`${service.baseUrl}/api/v2/account/me`, { headers: basic(known) });
    expect([(await me('pri_sim_dev')).status, (await me(key)).status]).toEqual([401, 200]);
    await service.trigger('transaction.paid');
    await row(page, '401').locator('.row-link').click();
    await page.getByText('it may still have only the old one. Configure both keys.').waitFor();
    expect(await layoutFaults(page)).toEqual([]);
    await page.reload();
    await page.locator('#detail-title').waitFor();
    expect(await page.content()).not.toContain(key);
  });
});
