import { describe, expect, test } from '@jest/globals';
import { DIAGNOSES } from '../../../src/tools/simulator/delivery/diagnose.js';
import { needing } from '../../setup/platform.js';
import { shell } from '../../setup/shell.js';
import { until } from '../../setup/waiting.js';
import { against } from './against.js';
import { failed, jsonLines } from './run-cli.js';

describe('deliveries', () => {
  async function withTwo() {
    let status = 500;
    const { ask, app } = await against('off', (_, response) =>
      response.writeHead(status).end('<b>no\u001b[2J</b>'),
    );
    await ask('trigger', 'transaction.paid', '--wait');
    status = 200;
    await ask('trigger', 'refund.succeeded', '--force', '--wait');
    const [refund, payment] = jsonLines(await ask('deliveries', 'list', '--json'));
    return { app, ask, refund, payment };
  }

  test('list shows the newest first, and only what is asked for', async () => {
    const { ask, payment, refund } = await withTwo();
    const events = async (...args: string[]) =>
      jsonLines(await ask('deliveries', 'list', '--json', ...args)).map(({ event_name }) => event_name);
    expect(await events()).toEqual(['refund.succeeded', 'transaction.paid']);
    const [headings, first] = (await ask('deliveries', 'list')).stdout.split('\n');
    expect(headings).toMatch(/^ID +STATUS +EVENT +EVENT ID +TO /);
    expect(first).toContain(` refund.succeeded  ${refund.event_id}  `);
    expect(await events('--limit', '1')).toEqual(['refund.succeeded']);
    expect(await events('--status', 'failed,retrying')).toEqual(['transaction.paid']);
    expect(await events('--event', 'refund.*')).toEqual(['refund.succeeded']);
    expect(await events('--search', payment.event_id)).toEqual(['transaction.paid']);
    const cancelled = await ask('deliveries', 'list', '--status', 'cancelled');
    expect(cancelled).toMatchObject({ code: 0, stdout: 'No delivery matches.\n' });
    const { ask: askNew } = await against();
    expect((await askNew('deliveries', 'list')).stdout).toBe('There are no deliveries.\n');
  });

  test('show tells everything of one, and nothing in it can steer the terminal', async () => {
    const { ask, payment } = await withTwo();
    const { code, stdout } = await ask('deliveries', 'show', payment.id.slice(0, 8));
    expect(code).toBe(0);
    expect(stdout).toContain(`delivery  ${payment.id}\n`);
    expect(stdout).toMatch(/^attempt 1 {2}[\d:]+ {2}500 {2}\d+ ms\n {2}Your handler failed\./m);
    expect(stdout).toContain(`  ${payment.attempts[0].request.body}\n`);
    expect(stdout).toContain('  <b>no\\u001b[2J</b>\n');
    expect(stdout).not.toContain('\u001b');
  });

  test('list and show name the outcome beside the status', async () => {
    const { ask } = await against('fast', (_, response) =>
      response.end('{"received":true,"outcome":"duplicate"}'),
    );
    await ask('trigger', 'transaction.paid', '--wait');
    expect((await ask('deliveries', 'list')).stdout).toMatch(/ 200 duplicate +\d+ +1$/m);
    const [{ id }] = jsonLines(await ask('deliveries', 'list', '--json'));
    const { stdout } = await ask('deliveries', 'show', id);
    expect(stdout).toMatch(/^attempt 1 {2}[\d:]+ {2}200 duplicate {2}\d+ ms$/m);
  });

  needing('curl').test('curl prints a command that sends the same bytes', async () => {
    const { ask, app, payment } = await withTwo();
    const { stdout } = await ask('deliveries', 'curl', payment.id);
    expect((await shell(stdout)).code).toBe(0);
    expect(app.received).toHaveLength(3);
    expect(app.received[2]?.body).toEqual(app.received[0]?.body);
    const signature = 'x-service-signature';
    expect(app.received[2]?.headers[signature]).toBe(app.received[0]?.headers[signature]);
  });

  test('resend sends the same bytes and tells how it went, one or all that failed', async () => {
    const { ask, app, payment } = await withTwo();
    const resend = (...args: string[]) => ask('deliveries', 'resend', ...args);
    const resent = await resend('--failed', '--json');
    expect(resent.code).toBe(0);
    const attempts = [{ number: 1 }, { number: 2, trigger: 'manual', succeeded: true }];
    expect(jsonLines(resent)).toMatchObject([{ id: payment.id, status: 'delivered', attempts }]);
    expect(app.received[2]?.body).toEqual(app.received[0]?.body);
    expect(await resend('--failed')).toMatchObject({ code: 0, stdout: 'No delivery has failed.\n' });
    await app.close();
    expect(await resend(payment.id)).toMatchObject({ code: 1, stderr: `${DIAGNOSES.refused}\n` });
    const asJson = await resend(payment.id, '--json');
    expect(asJson).toMatchObject({ code: 1, stderr: '' });
    expect(JSON.parse(asJson.stdout).attempts.at(-1)).toMatchObject({ diagnosis: DIAGNOSES.refused });
  });

  test('resend --failed goes on after a delivery whose webhook was deleted', async () => {
    const { ask, app } = await against('off', 500, 500, 500, 200);
    await ask('trigger', 'transaction.paid', '--wait');
    const [first] = jsonLines(await ask('webhooks', 'list', '--json'));
    await ask('webhooks', 'create', `${app.url}/second`);
    await ask('webhooks', 'delete', first.id);
    await ask('trigger', 'transaction.paid', '--wait');
    await ask('trigger', 'transaction.paid', '--wait');
    const { code, stdout, stderr } = await ask('deliveries', 'resend', '--failed', '--json');
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^\w{8}: The webhook of this delivery was deleted, so it cannot be sent again\. Register one with `payment-webhooks webhooks create`, and trigger the event again\.\n$/,
    );
    const one = await ask('deliveries', 'resend', stderr.slice(0, 8));
    expect(one).toEqual({ code: 1, stdout: '', stderr: stderr.slice('12345678: '.length) });
    expect(jsonLines({ stdout })).toMatchObject([{ status: 'delivered' }, { status: 'delivered' }]);
    expect(app.received).toHaveLength(5);
  });

  test('clear deletes what is finished and says what stays', async () => {
    const { ask } = await against(['1h'], 200, 500);
    await ask('trigger', 'transaction.paid', '--wait');
    await ask('trigger', 'transaction.paid');
    await until(
      async () => (await ask('deliveries', 'list', '--status', 'retrying', '--json')).stdout !== '',
    );
    const stdout = 'deleted        1\nstill pending  1\n';
    expect(await ask('deliveries', 'clear')).toEqual({ code: 0, stdout, stderr: '' });
    expect(jsonLines(await ask('deliveries', 'list', '--json'))).toHaveLength(1);
    expect((await ask('deliveries', 'clear', '--json')).stdout).toBe('{"deleted":0,"kept":1}\n');
  });

  test.each<[string, string[], number, string]>([
    ['an unknown id', ['show', 'ffffffff-ffff'], 1, 'See `payment-webhooks deliveries list`.'],
    ['an id that leads elsewhere', ['show', '../events'], 1, 'There is no delivery'],
    ['an empty id', ['show', ''], 2, 'ID is empty'],
    ['neither an id nor --failed', ['resend'], 2, 'Pass an ID, or --failed.'],
    ['an id and --failed', ['resend', 'x', '--failed'], 2, 'Pass an ID, or --failed.'],
  ])('fail on %s', async (_, args, code, message) => {
    expect(await (await against()).ask('deliveries', ...args)).toEqual(failed(code, message));
  });

  test('fail on an attempt that was not made', async () => {
    const { ask, payment } = await withTwo();
    for (const word of ['show', 'curl']) {
      const failed = await ask('deliveries', word, payment.id, '--attempt', '2');
      expect(failed).toMatchObject({
        code: 1,
        stderr: '--attempt 2 does not exist. The last attempt is 1.\n',
      });
    }
  });
});
