// The page in use: the empty state, a failed attempt, a delivered event.
import http, { type ServerResponse } from 'node:http';
import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { freePort } from '../setup/ports.js';
import { until } from '../setup/waiting.js';
import { afterwards, simulator } from '../tools/simulator/world.js';
import { button, clipboard, describeInChromium, expectComplaints, openPage, row } from './chromium.js';

const LATER = { clock: 'real', retry: ['90s', '90s'] } as const;

/** An endpoint that can be stopped, and started again on the same port. @param answer answers every request */
async function switchableEndpoint(
  answer: (response: ServerResponse) => void = (response) => response.end('{"received":true}'),
) {
  const server = http.createServer((request, response) => {
    request.resume().on('end', () => answer(response));
  });
  const port = await freePort();
  const start = () => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  await start();
  afterwards(stop);
  return { url: `http://127.0.0.1:${port}/hooks`, start, stop };
}

/** A simulator whose only webhook is such an endpoint. */
async function subscribed(answer?: (response: ServerResponse) => void) {
  const service = await simulator(LATER);
  const endpoint = await switchableEndpoint(answer);
  await service.webhooks.create({ url: endpoint.url });
  return { service, endpoint };
}

/** Expects one row with this text. A row is empty for a moment while it renders again. */
async function expectRow(page: Page, wanted: RegExp): Promise<void> {
  let rows: string[] = [];
  const read = async () => {
    rows = (await page.locator('tr.row').allInnerTexts()).map((text) => text.replace(/\s+/g, ' '));
    return rows.length === 1 && wanted.test(String(rows[0]));
  };
  await until(read).catch(() => {});
  expect(rows).toEqual([expect.stringMatching(wanted)]);
}

describeInChromium('the first delivery', () => {
  test('takes two clicks from the empty state, and becomes delivered without a reload', async () => {
    const service = await simulator(LATER);
    const { url } = await switchableEndpoint();
    const { page } = await openPage(service);
    await page.evaluate('window.sameDocument = true');
    await page.getByLabel('URL of your endpoint').fill(url);
    expect(await button(page, 'Trigger transaction.paid').isDisabled()).toBe(true);
    await button(page, 'Copy code').waitFor();
    await button(page, 'Register').and(page.locator('.primary')).click();
    await page.locator('.steps .done').waitFor();
    await button(page, 'Trigger transaction.paid').click();
    await row(page, 'Delivered').waitFor();
    await expectRow(page, /^Delivered transaction\.paid 127\.0\.0\.1:\d+ ?\/hooks 200 .*1\/3 /);
    expect(await page.evaluate('window.sameDocument')).toBe(true);
  });

  test('needs no endpoint where the simulator was started with one', async () => {
    const { service } = await subscribed();
    const { page } = await openPage(service);
    await page.getByText('The simulator was started with').waitFor();
    expect(await page.locator('.steps .done').count()).toBe(2);
  });

  test('an invalid URL has its error beside the field', async () => {
    const service = await simulator();
    const { page, complaints } = await openPage(service);
    await page.getByLabel('URL of your endpoint').fill('http://169.254.169.254/latest');
    await button(page, 'Register').and(page.locator('.primary')).click();
    await page.locator('.steps .problem').waitFor();
    expect(await page.getByLabel('URL of your endpoint').getAttribute('aria-invalid')).toBe('true');
    // The browser logs every 422.
    await expectComplaints(complaints, '422');
  });
});

describeInChromium('an endpoint that names an outcome', () => {
  test('is shown beside the status, in the list and in the detail', async () => {
    const { service } = await subscribed((response) => response.end('{"received":true,"outcome":"ignored"}'));
    await service.trigger('transaction.paid');
    const { page } = await openPage(service);
    await row(page, 'Ignored').getByRole('cell', { name: '200 ignored' }).waitFor();
    await page.getByRole('link', { name: 'transaction.paid' }).click();
    const first = page.locator('.attempts li').first();
    await first.getByText('200 ignored').waitFor();
    expect((await first.innerText()).replace(/\s+/g, ' ')).toMatch(/ 200 ignored /);
  });
});

describeInChromium('an endpoint that is down', () => {
  test('makes the next delivery retry, with a countdown and a diagnosis; once it is up, Retry now delivers it', async () => {
    const { service, endpoint } = await subscribed();
    const { page } = await openPage(service);
    await endpoint.stop();
    await button(page, 'Trigger event').click();
    const waiting = row(page, 'Retrying');
    await waiting.getByText(/next retry in 1 m/).waitFor();
    await expectRow(page, /ECONNREFUSED .*1\/3 next retry in 1 m/);

    await waiting.getByRole('link', { name: 'transaction.paid', exact: true }).click();
    await page.getByText('Nothing listens').waitFor();
    const countdown = page.locator('.attempts .countdown');
    const before = await countdown.innerText();
    await until(async () => (await countdown.innerText()) !== before);

    await page.getByRole('tab', { name: 'Response' }).click();
    const refused = `No response. connect ECONNREFUSED ${new URL(endpoint.url).host}`;
    await page.getByRole('tabpanel').getByText(refused, { exact: true }).waitFor();

    await endpoint.start();
    await page.locator('.detail').getByRole('button', { name: 'Retry now' }).click();
    await row(page, 'Delivered').waitFor();
    expect(service.deliveries().map(({ attempts }) => attempts.length)).toEqual([2]);
    const second = page.locator('.attempts li').nth(1);
    await second.getByText('manual').waitFor();
    await second.getByText('200').waitFor();
    expect(await page.locator('.callout.tone-failed').count()).toBe(0);
  });

  test('resend, cancel and copy as curl act on the delivery that is open', async () => {
    const { service, endpoint } = await subscribed();
    await endpoint.stop();
    const [delivery] = await service.trigger('transaction.paid');
    const { page } = await openPage(service, `?delivery=${delivery?.id}`);
    await button(page, 'Cancel retries').click();
    await page.getByText('Cancelled manually.').waitFor();
    await button(page, 'Copy as curl').click();
    await button(page, 'Copied').waitFor();
    const curl = await fetch(`${service.baseUrl}/_sim/deliveries/${delivery?.id}/curl`);
    expect(await clipboard(page)).toBe(await curl.text());
    await endpoint.start();
    await page.getByRole('button', { name: 'Resend', exact: true }).click();
    await row(page, 'Delivered').waitFor();
    const [resent] = service.deliveries();
    expect(resent?.attempts.map(({ request }) => request.body_sha256)).toEqual(
      Array(2).fill(delivery?.attempts[0]?.request.body_sha256),
    );
  });

  test('without access to the clipboard a dialog shows the command', async () => {
    const { service } = await subscribed();
    const [delivery] = await service.trigger('transaction.paid');
    const { page } = await openPage(service, `?delivery=${delivery?.id}`);
    await page.evaluate(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error('forbidden'));
    });
    await button(page, 'Copy as curl').click();
    expect(await page.getByRole('dialog').getByRole('textbox').inputValue()).toMatch(/^curl /);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
});

describeInChromium('the connection', () => {
  test('is lost when the simulator stops, and restored when it starts again', async () => {
    const port = await freePort();
    const first = await simulator({ port });
    first.faults.always('drop');
    await first.webhooks.create({ url: 'http://127.0.0.1:9/hooks' });
    await first.trigger('transaction.paid');
    const { page, complaints } = await openPage(first, '?q=status:failed');
    await page.getByText('No deliveries match this search.').waitFor();
    await first.close();
    await page.getByText('Connection lost').waitFor();
    await button(page, 'Trigger event').click();
    await page.getByText('The simulator does not answer.').waitFor();
    await button(page, 'Remove all faults').click();
    await page.locator('.notice').getByText('does not answer').waitFor();
    const second = await simulator({ port });
    // Clears the notice and the list of the first simulator.
    await page.locator('.notice').waitFor({ state: 'detached' });
    await page.getByText('No deliveries yet').waitFor();
    const { url } = await switchableEndpoint();
    await second.webhooks.create({ url });
    await second.trigger('transaction.paid');
    await page.getByText('Live', { exact: true }).waitFor();
    await button(page, 'Show all 1').click();
    await row(page, 'Delivered').waitFor();
    expect(complaints.splice(0).filter((text) => !/ERR_/.test(text))).toEqual([]);
  });
});
