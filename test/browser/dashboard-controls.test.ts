// The controls of the page, by mouse and by keyboard, and the state in its URL.
import { expect, test } from '@jest/globals';
import { type Answer, first, opensslHmac, simulator, subscribed } from '../tools/simulator/world.js';
import {
  button,
  clipboard,
  describeInChromium,
  dialog,
  expectComplaints,
  expectFocus,
  openPage,
  row,
} from './chromium.js';

/** Opens the page of a simulator whose endpoint answers like this, with these events triggered. */
async function open(answers: readonly Answer[], ...events: string[]) {
  const shop = await subscribed({}, ...answers);
  for (const event of events) await shop.service.trigger(event, { payload: {} });
  return { ...shop, ...(await openPage(shop.service)) };
}

/** Opens the page of a delivery of `a.one`. */
async function openDelivery(answers: readonly Answer[], content: object = { payload: {} }) {
  const shop = await subscribed({}, ...answers);
  const delivery = first(await shop.service.trigger('a.one', content));
  return { ...shop, delivery, ...(await openPage(shop.service, `?delivery=${delivery.id}`)) };
}

describeInChromium('webhooks', () => {
  test('are registered for chosen events, edited, paused and deleted', async () => {
    const { service, page } = await open([200], 'transaction.paid');
    await button(page, 'Register webhook').click();
    await expectFocus(page, /^<input .*type="url"/);
    await page.keyboard.type('http://localhost:9/other');
    await page.getByLabel('Events', { exact: true }).fill('transaction.paid, refund.*');
    await dialog(page, 'Register webhook').getByRole('button', { name: 'Register' }).click();
    await page.getByText('transaction.paid, refund.*').waitFor();
    await expectFocus(page, /Register webhook/);

    await button(page, 'Edit http://localhost:9/other').click();
    expect(await page.getByLabel('Events', { exact: true }).inputValue()).toBe('transaction.paid, refund.*');
    await page.getByLabel('Events', { exact: true }).fill('refund.*');
    await button(page, 'Save').click();
    await page.getByText('refund.*', { exact: true }).waitFor();
    await button(page, 'Pause http://localhost:9/other').click();
    await button(page, 'Resume http://localhost:9/other').waitFor();
    expect(service.webhooks.list()[1]).toMatchObject({ events: ['refund.*'], paused: true });

    await button(page, 'Delete http://localhost:9/other').click();
    await button(page, 'Keep').click();
    await expectFocus(page, /Delete http:\/\/localhost:9\/other/);
    await button(page, 'Delete http://localhost:9/other').click();
    await dialog(page, 'Delete webhook').getByRole('button', { name: 'Delete' }).click();
    await button(page, 'Edit http://localhost:9/other').waitFor({ state: 'detached' });
    await page.waitForFunction(() => document.activeElement?.textContent?.startsWith('Webhooks'));
    expect(service.webhooks.list()).toHaveLength(1);
  });

  test('are deleted only after a question that counts the pending retries', async () => {
    const { service, url, page } = await open([500], 'a.one');
    await service.webhooks.create({ url: 'http://127.0.0.1:9/idle', events: ['b.two'] });
    await button(page, `Delete ${url}`).click();
    await page.getByText('Delete webhook and cancel 1 pending retry?').waitFor();
    await service.trigger('a.two', { payload: {} });
    await page.getByText('Delete webhook and cancel 2 pending retries?').waitFor();
    await button(page, 'Keep').click();
    await button(page, 'Delete http://127.0.0.1:9/idle').click();
    await page.getByText('Delete webhook?').waitFor();
    await button(page, 'Keep').click();
    await button(page, `Delete ${url}`).click();
    await dialog(page, 'Delete webhook').getByRole('button', { name: 'Delete' }).click();
    await row(page, 'Cancelled').nth(1).waitFor();
  });
});

describeInChromium('the trigger', () => {
  test('checks the payload with each key, and sends it', async () => {
    const { received, page } = await open([200]);
    await page.getByLabel('Event', { exact: true }).fill('refund.succeeded');
    await button(page, 'Edit payload').click();
    const editor = dialog(page, 'Edit payload');
    const payload = editor.getByLabel('Payload');
    await payload.fill('{\n  "refund": {,}\n}');
    await editor.getByText('Invalid JSON at line 2, column 14.').waitFor();
    await button(page, 'Done').click();
    expect(await button(page, 'Trigger event').isDisabled()).toBe(true);
    await button(page, 'Edit payload').click();
    await payload.fill('{ "refund": { "amount": "12.50" } }');
    await editor.getByText('Valid JSON, 29 bytes as sent').waitFor();
    await page.keyboard.press('Escape');
    await expectFocus(page, /Edit payload/);
    await page.getByLabel('Sandbox event').check();
    await page.getByLabel('Count').fill('3');
    await button(page, 'Trigger 3 events').click();
    await page.getByText('Triggered 3 events: 3 deliveries.').waitFor();
    await row(page, 'Delivered').nth(2).waitFor();
    expect(received.map(({ body }) => JSON.parse(body.toString()))).toEqual(
      Array(3).fill({
        ...{ id: expect.any(String), event_name: 'refund.succeeded', sandbox: true },
        payload: { refund: { amount: '12.50' } },
      }),
    );
  });

  test('keeps a draft for each event, over a reload, shows it from its beginning, and how it differs from the sample', async () => {
    const { page } = await open([200]);
    await button(page, 'Edit payload').click();
    const payload = page.getByRole('textbox', { name: 'Payload' });
    expect(
      await payload.evaluate((field: HTMLTextAreaElement) => [field.selectionEnd, field.scrollTop]),
    ).toEqual([0, 0]);
    await payload.fill('{}');
    await dialog(page, 'Edit payload')
      .locator('.tone-fault')
      .getByText('Differs from the sample: token is missing, customer is missing, metadata is missing, …')
      .waitFor();
    await button(page, 'Reset to sample').click();
    expect(await payload.inputValue()).toContain('"order_id": "order-1042"');
    await payload.fill('{ "draft": 1 }');
    await button(page, 'Done').click();
    await page.getByLabel('Event', { exact: true }).fill('transaction.paid ');
    await page.getByText('Valid JSON, 11 bytes as sent').waitFor();
    await page.getByLabel('Event', { exact: true }).fill('refund.succeeded');
    await button(page, 'Edit payload').click();
    expect(await payload.inputValue()).not.toContain('draft');
    await page.reload();
    await button(page, 'Edit payload').click();
    expect(await payload.inputValue()).toBe('{ "draft": 1 }');
  });

  test('refuses an invalid event name, and says so when no webhook subscribes', async () => {
    const service = await simulator();
    const { page, complaints } = await openPage(service);
    await page.getByLabel('Event', { exact: true }).fill('paid');
    await button(page, 'Trigger event').click();
    await page.getByText('Pass <resource>.<action>').waitFor();
    await page.getByLabel('Event', { exact: true }).fill('refund.succeeded');
    await button(page, 'Trigger event').click();
    const nobody = page.getByText('No webhook subscribes to refund.succeeded');
    await nobody.waitFor();
    await service.webhooks.create({ url: 'http://127.0.0.1:9/hooks' });
    await nobody.waitFor({ state: 'detached' });
    await expectComplaints(complaints, '422');
  });

  test('sends with a fault, and the attempt shows it', async () => {
    const { page } = await open([401]);
    await page.locator('#trigger').getByLabel('Fault').selectOption('wrong_key');
    await page.getByText('Signs with a different key.').waitFor();
    await button(page, 'Trigger event').click();
    await row(page, 'injected fault: wrong_key').waitFor();
  });
});

describeInChromium('faults', () => {
  test('have a banner as long as one is active, and are removed at once or one by one', async () => {
    const { service, page } = await open([200], 'transaction.paid');
    await button(page, 'Add fault').click();
    const form = dialog(page, 'Add fault');
    await form.getByLabel('Fault').selectOption('tamper_body');
    await form.getByText('Changes one digit of the body').waitFor();
    await form.getByLabel('Events').fill('transaction.*');
    await form.getByLabel('How often').selectOption('always');
    await form.getByLabel('Chance, %').fill('50');
    await form.getByRole('button', { name: 'Add', exact: true }).click();
    const banner = page.locator('.fault-banner');
    await banner.getByText('tamper_body on transaction.*, 50% of attempts, until removed').waitFor();
    expect(service.faults.list()).toMatchObject([
      { kind: 'tamper_body', event: 'transaction.*', times: 'always', probability: 0.5 },
    ]);
    await button(page, 'Remove all faults').click();
    await banner.waitFor({ state: 'detached' });
    expect(service.faults.list()).toEqual([]);
    service.faults.always('drop');
    service.faults.always('delay');
    await banner.getByText('drop, until removed, and 1 more').waitFor();
    await button(page, 'Remove drop').click();
    await banner.getByText('delay, until removed.').waitFor();
  });
});

describeInChromium('the list', () => {
  test('is searched by filters, and the URL holds the search', async () => {
    const { service, page } = await open([200, 500, 200], 'a.one', 'b.two', 'a.three');
    await service.trigger('c.four', { payload: { order: 'Order-7' } });
    await row(page, 'c.four').waitFor();
    const names = () => page.locator('.row-link').allInnerTexts();
    expect(await names()).toEqual(['c.four', 'a.three', 'b.two', 'a.one']);
    await button(page, 'All 4').waitFor();
    await page.getByLabel('Search deliveries').fill('event:a.*');
    await button(page, 'All 2').waitFor();
    await button(page, 'Delivered 2').click();
    // The counts ignore the chosen status.
    await button(page, 'Retrying 0').waitFor();
    await button(page, 'All 2').waitFor();
    await page.getByLabel('Search deliveries').fill('event:a.* status:delivered');
    await row(page, 'b.two').waitFor({ state: 'detached' });
    expect(await names()).toEqual(['a.three', 'a.one']);
    await page.waitForURL((url) => url.search === '?q=event:a.*+status:delivered');
    await button(page, 'Remove the filter event:a.*').click();
    await page.getByLabel('Search deliveries').fill('payload:order-7');
    await row(page, 'a.one').waitFor({ state: 'detached' });
    expect(await names()).toEqual(['c.four']);
    await page.getByLabel('Search deliveries').fill('event:a.* status:delivered');
    await row(page, 'b.two').waitFor({ state: 'detached' });
    await page.getByLabel('Search deliveries').fill('event:a.* status:delivered');
    await button(page, 'Retrying 0').click();
    await page.getByText('No deliveries match this search.').waitFor();
    await page.getByLabel('Search deliveries').fill('state:failed');
    await page.getByText('Unknown filter "state:". Use one of status:').waitFor();
    await page.getByLabel('Search deliveries').fill('status:retrying');
    await page.reload();
    await row(page, 'b.two').waitFor();
    expect(await names()).toEqual(['b.two']);
    expect(await page.getByLabel('Search deliveries').inputValue()).toBe('status:retrying');
  });

  test('can hold new deliveries back, while listed ones still change', async () => {
    const { service, page } = await open([500, 200], 'a.one');
    await button(page, 'Hold new deliveries').click();
    await service.trigger('b.two', { payload: {} });
    await button(page, 'Show 1 new').waitFor();
    await service.advance('2s');
    await row(page, 'Delivered').waitFor();
    expect(await page.locator('.row-link').allInnerTexts()).toEqual(['a.one']);
    await button(page, 'Show 1 new').click();
    await row(page, 'b.two').waitFor();
  });

  test('counts down on a manual clock only when the program advances it', async () => {
    const { service, page } = await open([500], 'a.one');
    await page.getByText('next retry in 2 s').waitFor();
    await service.advance('500ms');
    await service.advance('500ms');
    await page.getByText('next retry in 1 s').waitFor();
  });
});

describeInChromium('the keyboard', () => {
  test('moves through the deliveries, opens one, closes it, and returns to its row', async () => {
    const { page } = await open([200], 'a.one', 'b.two', 'c.three');
    const heading = page.getByRole('heading', { level: 2 }).and(page.locator('#detail-title'));
    await page.keyboard.press('j');
    await expectFocus(page, /c\.three/);
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await expectFocus(page, /b\.two/);
    await page.keyboard.press('Enter');
    await heading.getByText('b.two').waitFor();
    await page.waitForFunction(() => document.activeElement?.id === 'detail-title');
    await page.keyboard.press('j');
    await heading.getByText('a.one').waitFor();
    await page.keyboard.press('Escape');
    await heading.waitFor({ state: 'detached' });
    await page.waitForFunction(() => document.activeElement?.textContent === 'a.one');
    await page.goBack();
    await page.waitForURL((url) => url.search === '');
  });

  test('keeps the focus on the delivery where it covers the list', async () => {
    const { page } = await open([200], 'a.one', 'b.two');
    await page.setViewportSize({ width: 1024, height: 768 });
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await expectFocus(page, /b\.two/);
    await page.keyboard.press('j');
    await expectFocus(page, /id="detail-title".*a\.one/);
  });

  test('resends, searches, triggers, holds new deliveries back and lists its shortcuts', async () => {
    const { received, page } = await open([200], 'a.one');
    await page.keyboard.press('j');
    await page.keyboard.press('r');
    await row(page, '2/5').waitFor();
    expect(received).toHaveLength(2);
    await page.keyboard.press('/');
    await page.keyboard.type('j?');
    expect(await page.getByLabel('Search deliveries').inputValue()).toBe('j?');
    await page.keyboard.press('Control+a');
    await page.keyboard.press('Delete');
    await page.keyboard.press('Escape');
    await page.keyboard.press('n');
    await expectFocus(page, /list="event-names"/);
    await page.keyboard.press('Control+Enter');
    await page.getByText('Triggered 1 event').waitFor();
    await row(page, 'Delivered').nth(1).waitFor();
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await page.keyboard.press('p');
    await button(page, 'Show 0 new').waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await page.getByLabel('Enable keyboard shortcuts').uncheck();
    await page.keyboard.press('Escape');
    await page.keyboard.press('p');
    await button(page, 'Show 0 new').waitFor();
  });
});

describeInChromium('the detail', () => {
  test('has a URL, and shows how the signature was computed', async () => {
    const { service, received } = await subscribed();
    const delivery = first(await service.trigger('a.one', { payload: {} }));
    const { page } = await openPage(service, `?q=event:a.*&delivery=${delivery.id}`);
    await page.getByRole('tab', { name: 'Request' }).focus();
    await page.keyboard.press('ArrowLeft');
    const digests = page.getByRole('tabpanel').locator('.digest');
    const sent = first(received).body;
    expect(await digests.nth(1).innerText()).toBe(opensslHmac(sent, service.privateKey));
    expect(await digests.nth(0).innerText()).toBe(first(delivery.attempts).request.body_sha256);
    await page.getByText('The HMAC of these bytes with the current key:').waitFor();
    expect(new URL(page.url()).search).toMatch(/&tab=signature$/);
    expect(await page.title()).toBe('a.one, Delivered – Webhook simulator');
    await page.keyboard.press('ArrowLeft');
    await page.getByRole('tabpanel', { name: 'Response' }).getByText('200').first().waitFor();
  });

  test('has the id of its event at the top, and a copy of it moves nothing', async () => {
    const { delivery, page } = await openDelivery([200]);
    const top = page.locator('.detail > header');
    await top.getByText(delivery.event_id).waitFor();
    const copy = top.getByRole('button', { name: 'Copy event ID' });
    const boxes = () =>
      page.locator('.detail button').evaluateAll((all) => all.map((each) => each.getBoundingClientRect()));
    const before = JSON.stringify(await boxes());
    await copy.click();
    await top.getByRole('button', { name: 'Copied' }).waitFor();
    expect(JSON.stringify(await boxes())).toBe(before);
    expect(await clipboard(page)).toBe(delivery.event_id);
    await copy.waitFor();
  });

  test('shows the body of a message above its headers, and the bytes of a request as sent', async () => {
    const { received, page } = await openDelivery([
      (_received, response) => response.end('{"outcome":"ignored"}'),
    ]);
    const panel = page.getByRole('tabpanel');
    await button(page, 'As sent').click();
    expect(await panel.locator('pre').textContent()).toBe(first(received).body.toString());
    await page.getByRole('tab', { name: 'Response' }).click();
    await panel.getByText('200 ignored').waitFor();
    const body = await panel.locator('.json').boundingBox();
    const headers = await panel.getByRole('table').boundingBox();
    expect(body?.y).toBeLessThan(headers?.y ?? 0);
    await page.locator('.detail > header .status').getByText('Ignored').waitFor();
  });

  test('marks what a fault changed after signing, and shows the signature that would have fitted', async () => {
    const { service, received } = await subscribed({}, 401);
    service.faults.once('tamper_body');
    const { id } = first(await service.trigger('a.one', { payload: { amount: '1.5' } }));
    const { page } = await openPage(service, `?delivery=${id}&tab=signature`);
    const panel = page.getByRole('tabpanel');
    expect(await panel.locator('del').innerText()).toBe('1');
    expect(await panel.locator('ins').innerText()).toBe('2');
    const sent = first(received).body;
    expect(await panel.locator('.digest').nth(1).innerText()).toBe(opensslHmac(sent, service.privateKey));
    await panel.getByText('It does not match:').waitFor();
    expect(await panel.locator('.digest mark').count()).toBeGreaterThan(30);
  });

  test('shows JSON as a tree that folds, is searched, and gives the path of a value', async () => {
    const payload = { order: { lines: [{ sku: 'a-1' }, { sku: 'b-2' }], 'unit price': 3 } };
    const { page } = await openDelivery([200], { payload });
    const tree = page.locator('.json');
    await tree.getByText('1 …').first().waitFor();
    await tree.getByLabel('Find in request body').fill('b-2');
    await tree.getByText('1 found').waitFor();
    expect(await tree.locator('mark').innerText()).toBe('b-2');
    await tree.getByRole('button', { name: '"sku"' }).click();
    expect(await clipboard(page)).toBe('payload.order.lines[1].sku');
    await tree.getByRole('button', { name: '"unit price"' }).click();
    expect(await clipboard(page)).toBe('payload.order["unit price"]');
    await tree.getByLabel('Find in request body').fill('');
    await page.getByRole('button', { name: 'Entries of payload', exact: true }).click();
    expect(await tree.innerText()).not.toContain('unit price');
  });

  test('is edited and sent as a new event, which then is open', async () => {
    const content = { sandbox: true, payload: { amount: '1' } };
    const { received, delivery, page } = await openDelivery([200], content);
    await button(page, 'Edit and resend').click();
    await page.getByRole('dialog').getByText('Sent as a new event, with a new ID.').waitFor();
    await page.getByRole('textbox', { name: 'Payload' }).fill('{ "amount": "2" }');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.waitForURL((url) => url.search !== `?delivery=${delivery.id}`);
    await page.locator('.json').getByText('"amount": "2"').waitFor();
    expect(JSON.parse(String(received[1]?.body))).toMatchObject({
      sandbox: true,
      payload: { amount: '2' },
    });
  });

  test('of a deleted delivery says so', async () => {
    const { service } = await subscribed();
    await service.trigger('a.one', { payload: {} });
    const { page, complaints } = await openPage(service, '?delivery=gone');
    await page.getByText('no longer has this delivery').waitFor();
    await expectComplaints(complaints, '404');
  });

  test('shows any attempt, and follows the latest until one is chosen', async () => {
    const { service, delivery, page } = await openDelivery([500, 503, 200]);
    const chosen = page.locator('.attempt[aria-current]');
    await chosen.getByText('500').waitFor();
    await service.advance('2s');
    await chosen.getByText('503').waitFor();
    await page.getByRole('link', { name: /Failed: attempt 1/ }).click();
    await service.advance('5s');
    await page.getByRole('link', { name: /Delivered: attempt 3/ }).waitFor();
    expect(await chosen.innerText()).toContain('500');
    await page.reload();
    await chosen.getByText('500').waitFor();
    expect(await page.locator('.attempt').nth(1).getAttribute('href')).toBe(
      `/?delivery=${delivery.id}&attempt=2`,
    );
    await service.advance('400ms');
    await page.getByRole('button', { name: 'Resend', exact: true }).click();
    await page.getByRole('img', { name: 'Pauses between the attempts: 2 s, 5 s, 400 ms' }).waitFor();
  });
});

describeInChromium('a delivery that an endpoint accepted although it was tampered with', () => {
  test('is no success: it has a status, a filter and a warning', async () => {
    const { service, page } = await open([200], 'a.one');
    service.faults.once('tamper_body');
    await service.trigger('b.two', { payload: { amount: 1 } });
    await button(page, 'Delivered 1').waitFor();
    await button(page, 'Wrongly accepted 1').click();
    expect(await page.locator('.row-link').allInnerTexts()).toEqual(['b.two']);
    await page.locator('.row-link').click();
    await page.locator('.callout.tone-failed').getByText('Your endpoint accepted a delivery').waitFor();
    await page.getByRole('link', { name: /Wrongly accepted: attempt 1/ }).waitFor();
  });
});

describeInChromium('the header', () => {
  test('links to what is documented and what is our choice', async () => {
    const { page } = await openPage(await simulator());
    const opened = page.context().waitForEvent('page');
    await page.getByRole('link', { name: 'Docs' }).click();
    const docs = await opened;
    await docs.getByText('What the service documents, and what is our choice').waitFor();
    await docs.close();
  });

  test('takes the theme from auto to light to dark, and saves it', async () => {
    const { page } = await openPage(await simulator(), '', { colorScheme: 'light' });
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await ground();
    await button(page, 'Theme: auto').click();
    await button(page, 'Theme: light').click();
    await button(page, 'Theme: dark').waitFor();
    expect(await ground()).not.toBe(light);
    await page.reload();
    await button(page, 'Theme: dark').waitFor();
  });
});
