// Event data stays text, values are masked until a user reveals them, and the content security policy holds.
import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { DeadLetter } from 'payment-webhooks';
import { aLetter } from '../setup/letters.js';
import {
  button,
  describeInChromium,
  dialog,
  expectInlineScriptBlocked,
  MARKUP,
  openPage,
} from './chromium.js';
import { type LetterApp, letterApp, openLetters, PRIVATE_KEY, paid } from './letter-app.js';

/** A letter with markup in every text. */
async function keepMarkup({ deadLetters }: LetterApp): Promise<string> {
  const rawBody = Buffer.from(
    JSON.stringify({ id: MARKUP, event_name: MARKUP, [MARKUP]: { [MARKUP]: MARKUP } }),
  );
  return deadLetters.keep(
    aLetter({
      ...{ reason: 'invalid', eventName: MARKUP, eventId: MARKUP, rawBody },
      code: MARKUP as DeadLetter['code'],
      issues: [{ path: MARKUP, message: MARKUP }],
      headers: { 'x-markup': MARKUP },
      keyId: createHash('sha256').update(PRIVATE_KEY).digest('hex').slice(0, 12),
    }),
  );
}

describeInChromium('markup in every field of a letter', () => {
  test('is text in every view, and nothing runs', async () => {
    const app = await letterApp();
    app.user = MARKUP;
    const tombstone = await keepMarkup(app);
    await app.deadLetters.discard(tombstone, { by: MARKUP, because: MARKUP });
    await keepMarkup(app);
    const { page } = await openPage(app);
    const expectText = async () => {
      expect(await page.evaluate('window.hit')).toBeUndefined();
      expect(await page.locator('img, iframe, body script').count()).toBe(0);
    };
    expect(await page.locator('.row-link').innerText()).toBe(MARKUP);
    expect(await page.locator('.cell-id').nth(1).innerText()).toBe(MARKUP);
    expect(await page.locator('.group .wrap').innerText()).toBe(MARKUP);
    expect(await page.locator('.page-head b').innerText()).toBe(MARKUP);
    await expectText();
    await page.locator('.row-link').click();
    await page.locator('.facts').waitFor();
    expect(await page.locator('#detail-title').innerText()).toBe(MARKUP);
    expect(await page.locator('.issues dt').innerText()).toBe(MARKUP);
    expect(await page.locator('.issues dd').innerText()).toBe(MARKUP);
    await button(page, 'Reveal values').click();
    await page.getByRole('row', { name: 'x-markup' }).getByText(MARKUP).waitFor();
    expect(await page.locator('[aria-label=Body].json').innerText()).toContain('<img src=x onerror=');
    await expectText();
    await page.keyboard.press('a');
    await dialog(page).getByText('1 would stay invalid.').first().waitFor();
    expect(await dialog(page).locator('h3').innerText()).toBe(MARKUP);
    await expectText();
    await page.keyboard.press('Escape');
    await button(page, 'Discard 1').click();
    expect(await dialog(page).locator('.scroll-area .mono').innerText()).toBe(MARKUP);
    await page.keyboard.press('Escape');
    await button(page, 'Discarded').click();
    expect(await page.locator('.tombstones td.cell-because').innerText()).toBe(`“${MARKUP}”`);
    expect(await page.locator('.tombstones td.cell-by').innerText()).toBe(MARKUP);
    await expectText();
  });

  test('that reverses the reading direction is shown in order', async () => {
    const app = await letterApp();
    await app.deadLetters.keep(aLetter({ eventId: 'evt\u202egnp.exe' }));
    const { page } = await openPage(app);
    expect(await page.locator('td.cell-id').innerText()).toBe('evt⟨U+202E⟩gnp.exe');
  });
});

describeInChromium('a payload', () => {
  test('reaches the page only after Reveal, and is masked again by Hide', async () => {
    const { app, page } = await openLetters([paid('evt_1', 'order-of-canary')]);
    const answers: Promise<string>[] = [];
    page.on('response', (response) => {
      answers.push(response.text().catch(() => ''));
    });
    const secret = async () => {
      const texts = [...(await Promise.all(answers)), await page.content()];
      return texts.filter((text) => text.includes('order-of-canary')).length;
    };
    await page.reload();
    await page.locator('.row-link').click();
    await page.getByText('"order_id": "string"').waitFor();
    await page.keyboard.press('r');
    await dialog(page).getByText('1 would go to a handler.').waitFor();
    await page.keyboard.press('Escape');
    expect(answers.length).toBeGreaterThan(4);
    expect(await secret()).toBe(0);
    expect(app.log.text.filter((line) => line.includes('letter revealed'))).toEqual([]);
    await button(page, 'Reveal values').click();
    await page.getByText('"order_id": "order-of-canary"').waitFor();
    expect(await secret()).toBe(2);
    expect(app.log.text.filter((line) => line.includes('letter revealed'))).toHaveLength(1);
    await button(page, 'Hide values').click();
    await page.getByText('"order_id": "string"').waitFor();
    expect(await page.content()).not.toContain('order-of-canary');
  });

  test('of 2 MB is shown in part, until someone asks for all of it', async () => {
    const app = await letterApp();
    const rawBody = Buffer.from(JSON.stringify({ note: 'x'.repeat(2_000_000) }));
    await app.deadLetters.keep(aLetter({ rawBody }));
    const { page } = await openPage(app);
    await page.locator('.row-link').click();
    await button(page, 'Reveal values').click();
    await page.getByText('The first 200,000 characters.').waitFor();
    const shown = () => page.locator('pre').evaluate((pre) => pre.textContent.length);
    expect(await shown()).toBe(200_000);
    await button(page, 'Show all 2.0 MB').click();
    expect(await shown()).toBeGreaterThan(2_000_000);
  });

  test('that is not UTF-8 is shown as Base64', async () => {
    const app = await letterApp();
    await app.deadLetters.keep(aLetter({ rawBody: Buffer.from([0xff, 0xfe, 0x41]) }));
    const { page } = await openPage(app);
    await page.locator('.row-link').click();
    await page.getByText('The body is not JSON').waitFor();
    await button(page, 'Reveal values').click();
    await page.getByText('They are shown as Base64.').waitFor();
    expect(await page.locator('pre').innerText()).toBe('//5B');
  });
});

describeInChromium('the page', () => {
  test('runs under a policy that blocks inline scripts', async () => {
    const { page, complaints } = await openPage(await letterApp());
    await expectInlineScriptBlocked(page, complaints);
  });

  test('sends no request to another origin, and keeps its settings apart from those of the app', async () => {
    const { page } = await openPage(await letterApp());
    await button(page, 'Theme: auto').click();
    const names = await page.evaluate(() => Object.keys(localStorage));
    expect(names).toEqual(['payment-webhooks.theme']);
  });
});
