// The page of dead letters by keyboard alone: found, understood, replayed, processed; and what else it can do.
import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { aLetter } from '../setup/letters.js';
import { gate, until } from '../setup/waiting.js';
import { button, describeInChromium, dialog, expectComplaints, expectFocus, openPage } from './chromium.js';
import {
  type LetterApp,
  letterApp,
  letterScene,
  openLetters,
  paid,
  pressReplayAll,
  refund,
} from './letter-app.js';

/** The events of the remaining letters, oldest first. */
async function eventIds({ deadLetters }: LetterApp, discarded = false): Promise<string[]> {
  const page = await deadLetters.list({ namespace: 'default', discarded }, { limit: 100 });
  return page.letters.map(({ eventId }) => eventId);
}

const rows = (page: Page) => page.locator('tr.row');

/** Makes the handler of `evt_2` wait until the gate is opened. */
function holdSecond(app: LetterApp) {
  const second = gate();
  app.work = (id) => id === 'evt_2' && second.opened;
  return second;
}

/** Opens the page with timers that run twenty times as fast, to not wait for its poll. */
async function openHastened(app: LetterApp) {
  const opened = await openPage(app);
  await opened.page.route('**/assets/page.js', async (route) => {
    const response = await route.fetch();
    const faster = 'const setInterval = (run, ms) => window.setInterval(run, ms / 20);';
    await route.fulfill({ response, body: `${faster}${await response.text()}` });
  });
  await opened.page.reload();
  return opened;
}

async function press(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

describeInChromium('a customer says that an order is unpaid', () => {
  test('its event is found by its id, understood, replayed and processed, by keyboard alone', async () => {
    const events = ['7001', '7002', '7003'].map((number) => paid(`evt_${number}`, `order-${number}`));
    const { app, page, complaints } = await openLetters(events);
    const begun = performance.now();

    await rows(page).nth(2).waitFor();
    await press(page, '/');
    await page.keyboard.type('evt_7002');
    await press(page, 'Enter');
    await page.getByRole('heading', { name: '1 matching dead letter' }).waitFor();
    await expectFocus(page, /^<a[^>]* data-row="[^"]+"[^>]*><span>transaction\.paid/);

    await press(page, 'Enter');
    await expectFocus(page, /id="detail-title"/);
    await page.getByText(/A handler failed \(\*: Error at letter-app\.ts:\d+\)\. /).waitFor();

    await press(page, 'r');
    await dialog(page).getByText('1 would go to a handler.').waitFor();
    expect(app.handled).toEqual([]);
    await expectFocus(page, /Replay 1 dead letter/);
    await press(page, 'Enter');
    await dialog(page).getByText('1 processed.').waitFor();
    expect(app.handled).toEqual(['evt_7002']);
    await expectFocus(page, /Done/);
    await press(page, 'Enter');

    await page.getByRole('heading', { name: '0 matching dead letters' }).waitFor();
    await expectFocus(page, /id="list-title"/);
    expect(await dialog(page).count()).toBe(0);
    expect(await page.locator('.detail').count()).toBe(0);
    expect(performance.now() - begun).toBeLessThan(60_000);
    expect(await eventIds(app)).toEqual(['evt_7001', 'evt_7003']);
    expect(app.handled).toEqual(['evt_7002']);
    await expectComplaints(complaints);
  });

  test('without the id it is found by name and time, and told from others by what is revealed', async () => {
    const events = ['7001', '7002'].map((number) => paid(`evt_${number}`, `order-${number}`));
    const { app, page } = await openLetters([...events, refund('evt_8001')]);
    await rows(page).nth(2).waitFor();
    await press(page, '/');
    await page.keyboard.type('event:transaction.* since:1h');
    await press(page, 'Enter');
    await page.getByRole('heading', { name: '2 matching dead letters' }).waitFor();
    await button(page, 'Remove the filter event:transaction.*').waitFor();
    expect(new URL(page.url()).search).toBe('?event=transaction.*&since=1h');
    await expectFocus(page, /data-row=/);
    await press(page, 'j', 'Enter');
    await page.locator('.detail > header').getByText('evt_7002').waitFor();
    expect(await page.content()).not.toContain('order-7002');
    await button(page, 'Reveal values').focus();
    await press(page, 'Enter');
    await page.getByText('"order_id": "order-7002"').waitFor();
    const revealed = app.log.lines.filter(({ msg }) => msg === 'letter revealed');
    expect(revealed).toEqual([expect.objectContaining({ user: 'ada', eventId: 'evt_7002' })]);
  });
});

describeInChromium('a link', () => {
  test('holds the filter and the letter that is open, behind any path', async () => {
    const app = await letterApp('/a/b');
    await app.keep(paid('evt_7001', 'order-1'));
    await app.keep(refund('evt_8001'));
    const { page } = await openPage(app, '?event=refund.*&reason=unknown');
    await rows(page).first().waitFor();
    expect(await rows(page).count()).toBe(1);
    await button(page, 'Remove the filter event:refund.*').waitFor();
    await page.locator('.row-link').click();
    await page.getByText('refund.succeeded was not declared').waitFor();
    await page.reload();
    await page.getByText('refund.succeeded was not declared').waitFor();
    await page.goBack();
    await page.locator('.detail').waitFor({ state: 'detached' });
    expect(await rows(page).count()).toBe(1);
    await button(page, 'All').click();
    await button(page, /^transaction\.paid/).click();
    await page.getByRole('heading', { name: '1 matching dead letter' }).waitFor();
    expect(new URL(page.url()).search).toBe('?reason=failed&event=transaction.paid');
  });

  test('to a letter that is gone says so', async () => {
    const { page, complaints } = await openLetters([], '?letter=gone');
    await page.locator('.detail').getByRole('status').filter({ hasText: /gone/ }).waitFor();
    await page.getByRole('heading', { name: '0 dead letters' }).waitFor();
    await expectComplaints(complaints, '404');
  });

  test('with a filter that cannot be right shows what the server says', async () => {
    const { page, complaints } = await openLetters([], '?since=yesterday');
    const said = await page.getByRole('alert').filter({ hasText: 'yesterday' }).innerText();
    expect(said).toMatch(/^since is "yesterday"\. Pass a duration such as "7d"/);
    // The browser logs every 422.
    await expectComplaints(complaints, '422', '422');
  });
});

describeInChromium('all letters that match', () => {
  test('are replayed after a look at what would happen, with progress and a report for each event name', async () => {
    const refunds = ['evt_1', 'evt_2', 'evt_3'].map((id) => refund(id));
    const events = [...refunds, refund('evt_4', 12), paid('evt_5', 'order-5')];
    const { app, page } = await openLetters(events, '?event=refund.*');
    const second = holdSecond(app);
    await page.getByRole('heading', { name: '4 matching dead letters' }).waitFor();
    await pressReplayAll(page);
    await dialog(page).getByText('3 would go to a handler, 1 would stay invalid.').waitFor();
    await dialog(page).getByRole('row', { name: 'payload.refund.amount 1' }).waitFor();
    expect(app.handled).toEqual([]);
    await button(page, 'Replay 3 dead letters').click();
    await dialog(page).getByText('1 of 4 dead letters: 1 processed, 0 failed').waitFor();
    expect(await page.getByRole('progressbar').getAttribute('value')).toBe('1');
    second.open();
    await dialog(page).getByText('3 processed, 1 still invalid.').waitFor();
    await button(page, 'Done').click();
    await page.getByRole('heading', { name: '1 matching dead letter' }).waitFor();
    expect(app.handled).toEqual(['evt_1', 'evt_2', 'evt_3']);
    expect(await eventIds(app)).toEqual(['evt_4', 'evt_5']);
  });

  test('can be replayed in part: a replay that is stopped goes on later', async () => {
    const { app, page } = await openLetters(['evt_1', 'evt_2', 'evt_3'].map((id) => paid(id, 'order')));
    const second = holdSecond(app);
    await pressReplayAll(page);
    await dialog(page).getByText('3 would go to a handler.').waitFor();
    await press(page, 'Enter');
    await dialog(page).getByText('1 of 3 dead letters').waitFor();
    // Closing would end the replay silently.
    await press(page, 'Escape', 'Escape');
    await dialog(page).getByText('The replay is running. Stop it first').waitFor();
    await expectFocus(page, /Stop/);
    await button(page, 'Stop').click();
    await dialog(page)
      .getByText(/^Stopped\. 1 of 3: 1 processed, 0 failed\./)
      .waitFor();
    // The server notices the disconnect, and replays no third letter.
    await until(() => app.open === 0);
    second.open();
    await until(async () => (await eventIds(app)).length === 1);
    await button(page, 'Check again').click();
    await dialog(page).getByText('1 would go to a handler.').waitFor();
    await press(page, 'Enter');
    await button(page, 'Done').click();
    await page.getByRole('heading', { name: '0 dead letters' }).waitFor();
    expect(app.handled).toEqual(['evt_1', 'evt_2', 'evt_3']);
  });

  test('are replayed as far as the connection held, and the page says how far', async () => {
    const { app, page, complaints } = await openLetters(['evt_1', 'evt_2'].map((id) => paid(id, 'order')));
    const second = holdSecond(app);
    await pressReplayAll(page);
    await dialog(page).getByText('2 would go to a handler.').waitFor();
    await press(page, 'Enter');
    await dialog(page).getByText('1 of 2 dead letters').waitFor();
    app.disconnect();
    await dialog(page)
      .getByText(
        'The connection was lost. 1 of 2: 1 processed, 0 failed. What was processed stays processed.',
      )
      .waitFor();
    second.open();
    await until(() => app.handled.length === 2);
    await expectComplaints(complaints, 'ERR_INCOMPLETE_CHUNKED_ENCODING');
  });

  test('are discarded with a reason, and none that is kept meanwhile', async () => {
    const { app, page } = await openLetters(['evt_1', 'evt_2'].map((id) => refund(id)));
    await button(page, 'Discard all 2').click();
    await button(page, 'Discard 2 dead letters for good').waitFor();
    await app.keep(refund('evt_3'));
    await press(page, 'Enter');
    expect(await eventIds(app)).toEqual(['evt_1', 'evt_2', 'evt_3']);
    await page.keyboard.type('test data');
    await press(page, 'Enter');
    await page.getByRole('heading', { name: '1 dead letter', exact: true }).waitFor();
    expect(await eventIds(app)).toEqual(['evt_3']);
    await button(page, 'Discarded').click();
    const tombstone = page.getByRole('row').filter({ hasText: 'evt_2' });
    for (const text of ['“test data”', 'ada', 'just now']) await tombstone.getByText(text).waitFor();
    expect(await eventIds(app, true)).toEqual(['evt_1', 'evt_2']);
    expect(app.handled).toEqual([]);
  });
});

describeInChromium('more than a hundred letters', () => {
  test('are discarded only by someone who types how many', async () => {
    const app = await letterApp();
    for (let number = 1; number <= 101; number += 1) await app.deadLetters.keep(aLetter());
    const { page } = await openHastened(app);
    await button(page, 'Discard all 101').click();
    await page.getByLabel('Why').fill('test data');
    await page.getByLabel('To confirm, type 101').fill('100');
    await button(page, 'Discard 101 dead letters for good').click();
    expect(await eventIds(app)).toHaveLength(100);
    await page.getByLabel('To confirm, type 101').fill('101');
    await button(page, 'Discard 101 dead letters for good').click();
    await page.getByRole('heading', { name: '0 dead letters' }).waitFor();
    expect(await eventIds(app)).toEqual([]);
    // The poll lists new letters.
    await app.keep(refund('evt_1'));
    await page.locator('.row-link').waitFor();
  });
});

describeInChromium('one letter', () => {
  test('whose handler fails again stays, and the report says where to look', async () => {
    const { app, page } = await openLetters([paid('evt_1', 'order-1')]);
    app.work = () => {
      throw new Error('still down');
    };
    await page.locator('.row-link').focus();
    await press(page, 'r');
    await button(page, 'Replay 1 dead letter').click();
    await dialog(page).getByText('1 failed.').waitFor();
    await dialog(page).getByText('The log of your app has the error').waitFor();
    await press(page, 'Escape');
    await page.getByRole('row', { name: /\*: Error at letters-page\.test\.ts:\d+ 2 / }).waitFor();
    expect(await eventIds(app)).toEqual(['evt_1']);
  });

  test('that nobody declares cannot be replayed now, and the dialog says what to do', async () => {
    const { page } = await openLetters([{ ...refund('evt_1'), event_name: 'payout.reversed' }]);
    await page.locator('.row-link').click();
    await page.getByText('payout.reversed was not declared').waitFor();
    await press(page, 'r');
    await dialog(page).getByText('1 would stay unknown.').waitFor();
    await dialog(page).getByText('Declare the event, register a handler, and deploy.').waitFor();
    await button(page, 'Check again').waitFor();
    const replay = dialog(page).getByRole('button', { name: /^Replay/ });
    expect(await replay.count()).toBe(0);
  });

  test('is discarded by keyboard', async () => {
    const { app, page, complaints } = await openLetters(['evt_1', 'evt_2'].map((id) => paid(id, 'order')));
    await page.locator('.row-link').nth(1).click();
    await page.locator('.facts').waitFor();
    await press(page, 'd');
    await expectFocus(page, /name="because"/);
    await page.keyboard.type('paid in cash');
    await press(page, 'Enter');
    await page.locator('.detail').waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: '1 dead letter', exact: true }).waitFor();
    expect(await eventIds(app)).toEqual(['evt_1']);
    await expectComplaints(complaints);
  });
});

describeInChromium('the list', () => {
  test('shows more than a page when asked, and moves by keys', async () => {
    const events = Array.from({ length: 60 }, (_, index) => refund(`evt_${index + 1}`));
    const { app, page } = await openLetters(events);
    await page.getByRole('heading', { name: '60 dead letters' }).waitFor();
    const known = () => page.getByRole('table').getAttribute('aria-rowcount');
    expect(await known()).toBe('51');
    await button(page, 'Show more').click();
    await page.getByRole('table').and(page.locator('[aria-rowcount="61"]')).waitFor();
    await press(page, 'j', 'j', 'k', 'Enter');
    await page.locator('.detail').getByText('evt_1', { exact: true }).waitFor();
    await press(page, 'j');
    await page.locator('.detail').getByText('evt_2', { exact: true }).waitFor();
    await press(page, 'Escape');
    await expectFocus(page, /data-row=/);
    await app.keep(refund('evt_61'));
    await press(page, 'u');
    await page.getByRole('heading', { name: '61 dead letters' }).waitFor();
    expect(await known()).toBe('62');
  });

  test('counts all letters where there are too many names to count each', async () => {
    const app = await letterApp();
    for (let number = 1; number <= 1_003; number += 1) {
      const eventName = `name_${number}.made`;
      await app.deadLetters.keep(aLetter({ reason: 'unknown', code: undefined, eventName }));
    }
    const { page } = await openPage(app);
    await page.getByRole('heading', { name: '1,003 dead letters' }).waitFor();
    const others = button(page, /^Other names 3 /);
    await others.click();
    await page.getByRole('heading', { name: '1,003 matching dead letters' }).waitFor();
    expect(new URL(page.url()).search).toBe('?reason=unknown');
    await page.getByLabel('Find dead letters').fill('event:name_1003.*');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: '1 matching dead letter', exact: true }).waitFor();
  });

  test('tells a screen reader what matches and what was done', async () => {
    const { page } = await openPage(await letterScene());
    const announced = (text: string) => page.locator('.announcer').getByText(text, { exact: true }).waitFor();
    await announced('10 dead letters');
    await button(page, /^Failed/).click();
    await announced('3 matching dead letters');
    await pressReplayAll(page);
    await announced('3 would go to a handler.');
    await press(page, 'Enter');
    await announced('3 processed.');
  });

  test('shows every key in a dialog', async () => {
    const { page } = await openPage(await letterApp());
    await press(page, '?');
    await dialog(page).getByRole('row', { name: 'r Replay the dead letter' }).waitFor();
  });
});

describeInChromium('someone whose server is down', () => {
  test('is told to check it', async () => {
    const { page, complaints } = await openLetters([paid('evt_1', 'order-1')]);
    await rows(page).first().waitFor();
    await page.context().setOffline(true);
    await pressReplayAll(page);
    await dialog(page).getByText('The server does not answer. Check that it is running.').waitFor();
    await page.context().setOffline(false);
    await expectComplaints(complaints, 'ERR_INTERNET_DISCONNECTED');
  });
});

describeInChromium('someone who is signed out', () => {
  test('sees what the server says, and changes nothing', async () => {
    const { app, page, complaints } = await openLetters([paid('evt_1', 'order-1')]);
    await rows(page).first().waitFor();
    app.user = undefined;
    await pressReplayAll(page);
    const said = await dialog(page).locator('.replay-state').filter({ hasNotText: 'Checking' }).innerText();
    expect(said).toMatch(/^Forbidden|sign/i);
    await expectComplaints(complaints, '403');
    expect(app.handled).toEqual([]);
  });

  test('sees no letters any more, from the next poll on', async () => {
    const app = await letterApp();
    await app.keep(paid('evt_1', 'order-1'));
    const { page, complaints } = await openHastened(app);
    await page.getByText('Signed in as').waitFor();
    // What the page asks last.
    await button(page, /^\*: Error at /).waitFor();
    app.user = undefined;
    await page.getByRole('alert').getByText('Sign in with another account.').waitFor();
    expect(await rows(page).count()).toBe(0);
    expect(await page.getByText('Signed in as').count()).toBe(0);
    await expectComplaints(complaints, '403', '403', '403');
  });
});
