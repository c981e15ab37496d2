import { describe, expect, test } from '@jest/globals';
import { refusingPort } from '../../setup/ports.js';
import { endpoint, simulator } from '../simulator/world.js';
import { against } from './against.js';
import { fileWith } from './files.js';
import { runCli } from './run-cli.js';

describe('trigger', () => {
  test('sends what --set and --data say, byte for byte what the record shows', async () => {
    const app = await endpoint(200);
    const ask = await against({ app });
    const set = ['--set', 'payload.transaction.amount=12', '--set', 'sandbox:=true'];
    await ask('trigger', 'transaction.paid', ...set, '--set', 'payload.metadata.cart\\.id=c', '--wait');
    const data = fileWith('{"refund":{"id":1}}');
    const { stdout } = await ask(
      ...['trigger', 'refund.succeeded', '--force', '--data', `@${data}`, '--wait', '--json'],
    );
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
    const args = ['trigger', 'order.shipped', '--force', '--data', '@-', '--count', '3', '--wait', '--json'];
    const { code, stdout } = await ask.with('{"a":"é"}', ...args);
    expect({ code, lines: stdout.trim().split('\n').length }).toEqual({ code: 0, lines: 3 });
    expect(app.received.map(({ body }) => JSON.parse(body.toString()).payload)).toEqual(
      Array(3).fill({ a: 'é' }),
    );
    expect(new Set(app.received.map(({ body }) => JSON.parse(body.toString()).id)).size).toBe(3);
  });

  test('sends no event of another name unless --force is given, and suggests the name that was meant', async () => {
    const app = await endpoint(200);
    const ask = await against({ app });
    for (const data of [[], ['--data', '{"a":1}'], ['--count', '2']]) {
      expect(await ask('trigger', 'transaction.payed', ...data)).toEqual({
        code: 2,
        stdout: '',
        stderr:
          'EVENT "transaction.payed" is not a declared event. Did you mean "transaction.paid"? To send it anyway, give --force.\n',
      });
    }
    expect(await ask('trigger', 'refund.succeeded')).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'EVENT "refund.succeeded" is not a declared event (transaction.paid). To send it anyway, give --force.\n',
    });
    expect(app.received).toEqual([]);
    const forced = await ask('trigger', 'transaction.payed', '--force', '--data', '{"a":1}', '--wait');
    expect(forced.code).toBe(0);
    expect(JSON.parse(String(app.received[0]?.body))).toMatchObject({
      ...{ event_name: 'transaction.payed', payload: { a: 1 } },
    });
  });

  test('takes a whole event of another name with --force', async () => {
    const app = await endpoint(200);
    const ask = await against({ app });
    const event = { id: 'evt-1', event_name: 'refund.failed', sandbox: true, payload: { refund: { id: 1 } } };
    const args = ['trigger', 'refund.failed', '--force', '--data', '@-', '--set', 'payload.refund.note=x'];
    expect((await ask.with(JSON.stringify(event), ...args, '--wait')).code).toBe(0);
    const payload = { refund: { id: 1, note: 'x' } };
    expect(JSON.parse(String(app.received[0]?.body))).toEqual({ ...event, payload });
  });

  test('shows what the endpoint says that became of the event', async () => {
    const app = await endpoint((_, response) => response.end('{"received":true,"outcome":"ignored"}'));
    const ask = await against({ app });
    const { stdout } = await ask('trigger', 'transaction.paid', '--wait');
    expect(stdout).toMatch(/ delivered .* 200 ignored +\d+ +1$/m);
    const { stdout: json } = await ask('trigger', 'transaction.paid', '--wait', '--json');
    expect(JSON.parse(json).attempts[0]).toMatchObject({ succeeded: true, outcome: 'ignored' });
  });

  test('sends a declared event with --force as without', async () => {
    const app = await endpoint(200);
    const ask = await against({ app });
    expect((await ask('trigger', 'transaction.paid', '--force', '--wait')).code).toBe(0);
    expect(JSON.parse(String(app.received[0]?.body)).payload.transaction.currency).toBe('EUR');
  });

  test.each<[string, number | undefined, string[], number, string, RegExp]>([
    [
      'with --wait: 1 when a delivery has failed for good, and why',
      404,
      ['--wait'],
      1,
      'There is no route at this path. Compare the URL of the webhook with app.post(…).\n',
      / failed .* 404 /,
    ],
    [
      '1 when nothing listens',
      undefined,
      [],
      1,
      'Nothing listens at this address. Start your endpoint, or correct the URL of the webhook.\n',
      / retrying .* ECONNREFUSED +\d+ +1/,
    ],
    ['0 when it is accepted', 200, [], 0, '', / delivered .* 200 +\d+ +1$/m],
    [
      '0 when a changed body is refused, as its help promises',
      401,
      ['--fault', 'tamper_body'],
      0,
      'Rejected, as expected: the fault tamper_body changed this attempt on purpose.\n',
      / retrying .* 401 /,
    ],
  ])('ends with %s', async (_, answer, args, code, stderr, shown) => {
    const app =
      answer === undefined
        ? { url: `http://127.0.0.1:${await refusingPort()}/hooks` }
        : await endpoint(answer);
    const ask = await against({ app, retry: args.includes('--wait') ? 'off' : ['1h'] });
    const ended = await ask('trigger', 'transaction.paid', ...args);
    expect(ended).toEqual({ code, stderr, stdout: expect.stringMatching(shown) });
  });

  test('with --wait ends with 4 when the time is over', async () => {
    const ask = await against({ app: await endpoint(500), retry: ['1h'] });
    expect(await ask('trigger', 'transaction.paid', '--wait', '--timeout', '200ms')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('Not finished after 200ms.'),
    });
  });

  test('with --wait prints each attempt where there were several', async () => {
    const app = await endpoint(401, 200);
    const ask = await against({ app, retry: ['10ms'] });
    const { code, stdout } = await ask('trigger', 'transaction.paid', '--fault', 'tamper_body', '--wait');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^attempt 1 .* 401 .*fault tamper_body/m);
    expect(stdout).toMatch(/^attempt 2 .* 200 /m);
    expect(stdout).toContain('Rejected, as expected');
  });

  test('prints deliveries that the simulator dropped meanwhile', async () => {
    const ask = await against({ app: await endpoint(200) });
    const { code, stdout } = await ask('trigger', 'transaction.paid', '--count', '600', '--json');
    expect({ code, lines: stdout.trim().split('\n').length }).toEqual({ code: 0, lines: 600 });
  }, 60_000);

  test('does not wait for a webhook that is paused', async () => {
    const service = await simulator({ clock: 'real' });
    const { id } = await service.webhooks.create({ url: (await endpoint(200)).url });
    await service.webhooks.update(id, { paused: true });
    const setting = { env: { SERVICE_SIM_URL: service.baseUrl } };
    expect(await runCli(['trigger', 'transaction.paid'], setting)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('cancelled'),
    });
  });

  test.each(['--signature-header', '--header'])(
    'sends the signature in the header that %s names, also at retries',
    async (option) => {
      const app = await endpoint(500, 200);
      const ask = await against({ app, retry: ['10ms'] });
      await ask('trigger', 'transaction.paid', option, 'X-Pay-Signature', '--wait');
      expect(app.received).toHaveLength(2);
      for (const { headers } of app.received) {
        expect(headers['x-pay-signature']).toMatch(/^[0-9a-f]{64}$/);
        expect(headers['x-service-signature']).toBeUndefined();
      }
    },
  );

  test('stops waiting for a delivery that the simulator dropped', async () => {
    const app = await endpoint(200);
    const ask = await against({ app });
    const typed = ['trigger', 'transaction.paid', '--count', '1000', '--wait', '--timeout', '60s'];
    expect(await ask(...typed)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('already deleted'),
    });
  }, 90_000);

  test.each<[string, string[], number, string]>([
    ['a name without a dot', ['paid', '--force'], 2, 'EVENT "paid" is not an event name'],
    ['a name with a space', ['a b.c', '--force'], 2, 'EVENT "a b.c" is not an event name'],
    ['an id that is empty', ['transaction.paid', '--set', 'id='], 2, '--set id is not valid: expected 1 to'],
    ['a flag that is text', ['transaction.paid', '--set', 'sandbox=true'], 2, '--set sandbox:=true'],
    ['a payload that is text', ['transaction.paid', '--set', 'payload=x'], 2, '--set payload is not valid'],
    [
      'an event with a wrong id',
      ['transaction.paid', '--data', '{"event_name":"transaction.paid","id":7,"payload":{}}'],
      2,
      'The id in --data is not valid',
    ],
    [
      'a field of a text',
      ['transaction.paid', '--set', 'payload.transaction.amount.x=1'],
      2,
      '--set payload.transaction.amount.x: payload.transaction.amount is text and has no fields.',
    ],
    [
      'a header that is none',
      ['transaction.paid', '--signature-header', 'a b'],
      2,
      '--signature-header "a b" is not a valid header name.',
    ],
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
    const { code, stderr } = await runCli([...args, '--url', `http://127.0.0.1:${await refusingPort()}`]);
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringContaining('Start one with `payment-webhooks simulate`'),
    });
  });

  test.each([
    [['trigger', 'transaction.paid', '--url', 'http://127.0.0.1:1']],
    [['account', '--url', 'http://127.0.0.1:1']],
  ])('%j ends with 3 and says that fetch blocks the port', async (args) => {
    const { code, stderr } = await runCli(args);
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringContaining(
        'Node blocks connections to port 1 ("bad port"), so http://127.0.0.1:1 cannot be reached. Give --url another port',
      ),
    });
  });

  test.each([
    [['trigger', 'transaction.paid', '--url', 'http://simulator.invalid:4747']],
    [['account', '--url', 'https://simulator.invalid:4747']],
  ])('%j ends with 3 when the host has no address', async (args) => {
    const { code, stderr } = await runCli(args);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringMatching(/ENOTFOUND|EAI_AGAIN/) });
  });

  test.each([
    ['a page', (text: string) => text],
    ['another API', () => '{"ok":true}'],
  ])('%s at the address is told from a simulator', async (_, body) => {
    const { url } = await endpoint((_received, response) => response.end(body('<html>')));
    const { code, stderr } = await runCli(['deliveries', 'list', '--url', url]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('is not a simulator') });
  });

  test('an invalid address is wrong usage, and failures are JSON for programs', async () => {
    const { code, stderr } = await runCli(['deliveries', 'list', '--url', 'nonsense', '--json']);
    expect(code).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'USAGE' } });
  });
});
