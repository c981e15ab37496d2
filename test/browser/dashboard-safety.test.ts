// Captured text stays text, and no key reaches the page.
import { expect, test } from '@jest/globals';
import { until } from '../setup/waiting.js';
import { type Answer, call, endpoint, simulator } from '../tools/simulator/world.js';
import { describeInChromium, expectInlineScriptBlocked, MARKUP, openPage } from './chromium.js';

/** Differs from the key in the texts of the page. */
const KEY = 'pri_sim_only_of_this_test';

async function delivered(answer: Answer, event = 'a.one') {
  const service = await simulator({ retry: 'off', privateKey: KEY });
  const hooks = await endpoint(answer);
  await service.webhooks.create({ url: `${hooks.url}?${encodeURIComponent('<b>')}` });
  const [delivery] = await service.trigger(event, { payload: { note: MARKUP } });
  const { page, complaints } = await openPage(service, `?delivery=${delivery?.id}`);
  return { service, page, complaints, panel: page.getByRole('tabpanel') };
}

describeInChromium('a captured response', () => {
  test('with markup is shown as text', async () => {
    const { page, panel } = await delivered((_received, response) => {
      response.writeHead(500, { 'Content-Type': 'text/html', 'X-Markup': MARKUP }).end(MARKUP);
    });
    expect(await panel.locator('.json').innerText()).toContain('<img src=x onerror=');
    await page.getByRole('tab', { name: 'Response' }).click();
    expect(await panel.locator('pre').textContent()).toBe(MARKUP);
    expect(await panel.getByRole('row', { name: 'X-Markup' }).getByRole('cell').textContent()).toBe(MARKUP);
    expect(await page.evaluate('window.hit')).toBeUndefined();
    expect(await page.locator('img, iframe, body script').count()).toBe(0);
  });

  test('of 5 MB is shown as far as it was kept, and the page says so', async () => {
    const { page, panel } = await delivered((_received, response) => {
      response.writeHead(200).end('x'.repeat(5_000_000));
    });
    await page.getByRole('tab', { name: 'Response' }).click();
    await page.getByText('The body is incomplete').waitFor();
    expect((await panel.locator('pre').textContent())?.length).toBe(65_536);
  });

  test.each([
    [
      'of binary bytes is shown with pictures of its control characters',
      Buffer.from([0x00, 0x1b, 0xff, 0xfe, 0x41, 0x07]),
      '␀␛��A␇',
    ],
    ['that reverses the reading direction is shown in order', 'safe\u202egnp.exe', 'safe⟨U+202E⟩gnp.exe'],
  ])('%s', async (_, body, shown) => {
    const { page, panel } = await delivered((_received, response) => response.writeHead(200).end(body));
    await page.getByRole('tab', { name: 'Response' }).click();
    expect(await panel.locator('pre').textContent()).toBe(shown);
  });
});

describeInChromium('a name', () => {
  test('of an event may look like markup', async () => {
    const { page } = await delivered(200, '<img/src=x/onerror=window.hit=1>.paid');
    expect(await page.locator('.row-link').innerText()).toBe('<img/src=x/onerror=window.hit=1>.paid');
    expect(await page.evaluate('window.hit')).toBeUndefined();
    expect(await page.locator('img').count()).toBe(0);
  });
});

describeInChromium('the page', () => {
  test('is served with a strict Content-Security-Policy, and runs under it', async () => {
    const { service, page, complaints } = await delivered(200);
    const policy = (await call(service.dashboardUrl)).headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'");
    await expectInlineScriptBlocked(page, complaints);
  });

  test('never receives a key, in no file, no answer and no message', async () => {
    const { service, page } = await delivered(401);
    const answers: Promise<string>[] = [];
    page.on('response', (response) => {
      if (!response.url().endsWith('/stream')) answers.push(response.text().catch(() => ''));
    });
    await page.reload();
    for (const tab of ['Response', 'Signature', 'Request'])
      await page.getByRole('tab', { name: tab }).click();
    await until(() => answers.length > 6);
    const texts = [...(await Promise.all(answers)), await page.content()];
    // A diagnosis names the default key, which is not secret.
    const hasKey = (text: string) => /pri_(?!sim_dev\b)/.test(text) || text.includes(service.sandboxKey);
    expect(texts.filter(hasKey)).toEqual([]);
  });
});
