import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { endpoint } from '../simulator/world.js';
import { against } from './against.js';
import { runCli } from './run-cli.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'trigger-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const file = (name: string, content: string) => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

describe('trigger', () => {
  test('sends what --set and --data say, byte for byte what the record shows', async () => {
    const app = await endpoint(200);
    const ask = await against({ app });
    const set = ['--set', 'payload.transaction.amount=12', '--set', 'sandbox:=true'];
    await ask('trigger', 'transaction.paid', ...set, '--set', 'payload.metadata.cart\\.id=c', '--wait');
    const data = file('refund.json', '{"refund":{"id":1}}');
    const { stdout } = await ask('trigger', 'refund.succeeded', '--data', `@${data}`, '--wait', '--json');
    const [first, second] = app.received.map(({ body }) => JSON.parse(body.toString()));
    expect(first).toMatchObject({
      sandbox: true,
      payload: { transaction: { amount: '12', currency: 'EUR' }, metadata: { 'cart.id': 'c' } },
    });
    expect(second).toMatchObject({ event_name: 'refund.succeeded', payload: { refund: { id: 1 } } });
    expect(JSON.parse(stdout).attempts[0].request.body).toBe(app.received[1]?.body.toString());
  });

  test('takes a body from a pipe, and several events at once', async () => {
    const app = await endpoint(200);
    const ask = await against({ app });
    const args = ['trigger', 'order.shipped', '--data', '@-', '--count', '3', '--wait', '--json'];
    const { code, stdout } = await ask.with('{"a":"é"}', ...args);
    expect({ code, lines: stdout.trim().split('\n').length }).toEqual({ code: 0, lines: 3 });
    expect(app.received.map(({ body }) => JSON.parse(body.toString()).payload)).toEqual(
      Array(3).fill({ a: 'é' }),
    );
    expect(new Set(app.received.map(({ body }) => JSON.parse(body.toString()).id)).size).toBe(3);
  });

  test('with --wait ends with 1 when a delivery has failed for good, and says why', async () => {
    const app = await endpoint(404);
    const ask = await against({ app, retry: 'off' });
    const { code, stdout, stderr } = await ask('trigger', 'transaction.paid', '--wait');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'There is no route at this path. Compare the URL of the webhook with app.post(…).\n',
    });
    expect(stdout).toMatch(/ failed .* 404 /);
  });

  test('with --wait ends with 4 when the time is over', async () => {
    const app = await endpoint(500);
    const ask = await against({ app, retry: ['1h'] });
    const typed = ['trigger', 'transaction.paid', '--wait', '--timeout', '200ms'];
    const { code, stderr } = await ask(...typed);
    expect({ code, stderr }).toEqual({
      code: 4,
      stderr: expect.stringContaining('Not finished after 200ms.'),
    });
  });

  test('does not wait for ever for what the simulator has forgotten', async () => {
    const app = await endpoint(200);
    const ask = await against({ app });
    const typed = ['trigger', 'transaction.paid', '--count', '1000', '--wait', '--timeout', '20s'];
    expect(await ask(...typed)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('forgotten by now'),
    });
  }, 30_000);

  test.each<[string, string[], number, string]>([
    ['a name that is none', ['paid'], 1, 'The event name is "paid"'],
    ['a fault that is none', ['transaction.paid', '--fault', 'tamper'], 1, 'tamper_body'],
    ['more events than it may', ['transaction.paid', '--count', '1001'], 1, '1 to 1000'],
    ['a count that is none', ['transaction.paid', '--count', 'many'], 2, '--count is no whole number'],
    ['no name', [], 2, '`trigger` needs EVENT'],
    ['a file that is not there', ['transaction.paid', '--data', '@nowhere.json'], 2, 'ENOENT'],
    ['a subscription that is missing', ['transaction.paid'], 1, 'No webhook subscribes to transaction.paid'],
  ])('fails on %s', async (_, args, code, message) => {
    const failed = await (await against())('trigger', ...args);
    expect(failed).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
  });
});

describe('where there is no simulator', () => {
  const commands = [
    ['trigger', 'transaction.paid'],
    ['deliveries', 'list'],
    ['deliveries', 'show', 'x'],
  ];

  test.each(commands)('%s %s ends with 3 when nothing listens', async (...args) => {
    const stopped = await endpoint();
    await stopped.close();
    const { code, stderr } = await runCli([...args, '--url', stopped.url]);
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringContaining('Start one with `payment-webhooks simulate`'),
    });
  });

  test.each([
    ['a page', (text: string) => text],
    ['another API', () => '{"ok":true}'],
  ])('%s at the address is told from a simulator', async (_, body) => {
    const { url } = await endpoint((_received, response) => response.end(body('<html>')));
    const { code, stderr } = await runCli(['deliveries', 'list', '--url', url]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('is no simulator') });
  });

  test('an address that is none is wrong usage, and failures are JSON for programs', async () => {
    const { code, stderr } = await runCli(['deliveries', 'list', '--url', 'nonsense', '--json']);
    expect(code).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'USAGE' } });
  });
});
