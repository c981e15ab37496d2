import { describe, expect, test } from '@jest/globals';
import { DIAGNOSES } from '../../../src/tools/simulator/delivery/diagnose.js';
import { refusingPort } from '../../setup/ports.js';
import { endpoint, expectSigned } from '../simulator/world.js';
import { against } from './against.js';
import { fileWith } from './files.js';
import { failed, jsonLines, runCli } from './run-cli.js';

/** The events that have arrived there. */
const eventsAt = ({ received }: Awaited<ReturnType<typeof endpoint>>) =>
  received.map(({ body }) => JSON.parse(String(body)));

describe('trigger', () => {
  test('warns of a field that the sample does not have, and sends it', async () => {
    const { app, ask } = await against('off', 200);
    const { code, stderr } = await ask('trigger', 'transaction.paid', '--set', 'payload.amount=7', '--wait');
    const warning = '--set payload.amount adds a field that the sample does not have.';
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: `${warning} Did you mean "payload.transaction.amount"?\n`,
    });
    expect(JSON.parse(String(app.received[0]?.body)).payload.amount).toBe('7');
  });

  test('sends what --set and --data say, byte for byte what the record shows', async () => {
    const { ask, app } = await against('fast', 200);
    const set = ['--set', 'payload.transaction.amount=12', '--set', 'sandbox:=true'];
    await ask('trigger', 'transaction.paid', ...set, '--set', 'payload.metadata.cart\\.id=c', '--wait');
    const data = fileWith('{"refund":{"id":1}}');
    const event = ['refund.succeeded', '--force', '--data', `@${data}`];
    const { stdout } = await ask('trigger', ...event, '--wait', '--json');
    const [first, second] = eventsAt(app);
    const payload = { transaction: { amount: '12', currency: 'EUR' }, metadata: { 'cart.id': 'c' } };
    expect(first).toMatchObject({ sandbox: true, payload });
    expect(second).toMatchObject({ event_name: 'refund.succeeded', payload: { refund: { id: 1 } } });
    expect(JSON.parse(stdout).attempts[0].request.body).toBe(app.received[1]?.body.toString());
  });

  test('takes a body from a pipe, and several events at once', async () => {
    const { askWith, app } = await against('fast', 200);
    const args = ['trigger', 'order.shipped', '--force', '--data', '@-', '--count', '3', '--wait', '--json'];
    const run = await askWith('{"a":"é"}', ...args);
    expect(run.code).toBe(0);
    expect(jsonLines(run)).toHaveLength(3);
    expect(eventsAt(app).map(({ payload }) => payload)).toEqual(Array(3).fill({ a: 'é' }));
    expect(new Set(eventsAt(app).map(({ id }) => id)).size).toBe(3);
  });

  test('sends an undeclared event only with --force, and suggests the declared name', async () => {
    const { ask, app } = await against('fast', 200);
    const suggestion =
      'EVENT "transaction.payed" is not a declared event. Did you mean "transaction.paid"? To send it anyway, give --force.\n';
    for (const data of [[], ['--data', '{"a":1}'], ['--count', '2']]) {
      const run = await ask('trigger', 'transaction.payed', ...data);
      expect(run).toEqual({ code: 2, stdout: '', stderr: suggestion });
    }
    const stderr =
      'EVENT "refund.succeeded" is not a declared event (transaction.paid). To send it anyway, give --force.\n';
    expect(await ask('trigger', 'refund.succeeded')).toEqual({ code: 2, stdout: '', stderr });
    expect(app.received).toEqual([]);
    const forced = await ask('trigger', 'transaction.payed', '--force', '--data', '{"a":1}', '--wait');
    expect(forced.code).toBe(0);
    expect(eventsAt(app)).toMatchObject([{ event_name: 'transaction.payed', payload: { a: 1 } }]);
  });

  test('takes a whole undeclared event with --force', async () => {
    const { askWith, app } = await against('fast', 200);
    const event = { id: 'evt-1', event_name: 'refund.failed', sandbox: true, payload: { refund: { id: 1 } } };
    const args = ['trigger', 'refund.failed', '--force', '--data', '@-', '--set', 'payload.refund.note=x'];
    expect((await askWith(JSON.stringify(event), ...args, '--wait')).code).toBe(0);
    expect(eventsAt(app)).toEqual([{ ...event, payload: { refund: { id: 1, note: 'x' } } }]);
  });

  test('shows the outcome that the endpoint reports', async () => {
    const { ask } = await against('fast', (_, response) =>
      response.end('{"received":true,"outcome":"ignored"}'),
    );
    const { stdout } = await ask('trigger', 'transaction.paid', '--wait');
    expect(stdout).toMatch(/ ignored .* 200 ignored +\d+ +1$/m);
    const { stdout: json } = await ask('trigger', 'transaction.paid', '--wait', '--json');
    expect(JSON.parse(json).attempts[0]).toMatchObject({ succeeded: true, outcome: 'ignored' });
  });

  test('sends a declared event with or without --force', async () => {
    const { ask, app } = await against('fast', 200);
    expect((await ask('trigger', 'transaction.paid', '--force', '--wait')).code).toBe(0);
    expect(eventsAt(app)).toMatchObject([{ payload: { transaction: { currency: 'EUR' } } }]);
  });

  const TAMPERED = 'Rejected, as expected: the fault tamper_body changed this attempt on purpose.';
  test.each<[string, number, string[], number, string, RegExp]>([
    ['1 when a delivery has failed for good', 404, ['--wait'], 1, DIAGNOSES.notFound, / failed .* 404 /],
    ['1 when nothing listens', 0, [], 1, DIAGNOSES.refused, / retrying .* ECONNREFUSED +\d+ +1/],
    ['0 when it is accepted', 200, [], 0, '', / delivered .* 200 +\d+ +1$/m],
    ['0 when a changed body is refused', 401, ['--fault', 'tamper_body'], 0, TAMPERED, / retrying .* 401 /],
  ])('ends with %s', async (_, answer, args, code, reason, shown) => {
    const { ask, app } = await against(args.includes('--wait') ? 'off' : ['1h'], answer);
    if (answer === 0) await app.close();
    const ended = await ask('trigger', 'transaction.paid', ...args);
    expect(ended).toEqual({ code, stderr: reason && `${reason}\n`, stdout: expect.stringMatching(shown) });
  });

  test('with --wait ends with 4 when the time is over', async () => {
    const { ask } = await against(['1h'], 500);
    const run = await ask('trigger', 'transaction.paid', '--wait', '--timeout', '200ms');
    expect(run).toMatchObject({ code: 4, stderr: expect.stringContaining('Not finished after 200ms.') });
  });

  test('with --wait prints each attempt where there were several', async () => {
    const { ask } = await against(['10ms'], 401, 200);
    const { code, stdout } = await ask('trigger', 'transaction.paid', '--fault', 'tamper_body', '--wait');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^attempt 1 .* 401 .*fault tamper_body/m);
    expect(stdout).toMatch(/^attempt 2 .* 200 /m);
    expect(stdout).toContain('Rejected, as expected');
  });

  test('prints deliveries that the simulator dropped meanwhile', async () => {
    const { ask } = await against('fast', 200);
    const run = await ask('trigger', 'transaction.paid', '--count', '600', '--json');
    expect(run.code).toBe(0);
    expect(jsonLines(run)).toHaveLength(600);
  }, 60_000);

  test('does not wait for a webhook that is paused', async () => {
    const { ask, service, webhook } = await against('fast', 200);
    await service.webhooks.update(webhook, { paused: true });
    const run = await ask('trigger', 'transaction.paid');
    expect(run).toMatchObject({ code: 0, stdout: expect.stringContaining('cancelled') });
  });

  test.each(['--signature-header', '--header'])(
    'sends the signature in the header that %s names, also at retries',
    async (option) => {
      const { ask, app } = await against(['10ms'], 500, 200);
      await ask('trigger', 'transaction.paid', option, 'X-Pay-Signature', '--wait');
      expect(app.received).toHaveLength(2);
      for (const request of app.received) {
        expectSigned(request, 'pri_sim_dev', 'x-pay-signature');
        expect(request.headers).not.toHaveProperty('x-service-signature');
      }
    },
  );

  test('stops waiting for a delivery that the simulator dropped', async () => {
    const { ask } = await against('fast', 200);
    const run = await ask('trigger', 'transaction.paid', '--count', '1000', '--wait', '--timeout', '60s');
    expect(run).toMatchObject({ code: 1, stderr: expect.stringContaining('already deleted') });
  }, 90_000);

  test.each<[string, string[], number, string]>([
    ['a name without a dot', ['paid', '--force'], 2, 'EVENT "paid" is not an event name'],
    ['a name with a space', ['a b.c', '--force'], 2, 'EVENT "a b.c" is not an event name'],
    ['an id that is empty', ['transaction.paid', '--set', 'id='], 2, '--set id is not valid: expected 1 to'],
    ['no name', [], 2, '`trigger` needs EVENT'],
    ['a file that is not there', ['transaction.paid', '--data', '@nowhere.json'], 2, 'ENOENT'],
    ['a subscription that is missing', ['transaction.paid'], 1, 'No webhook subscribes to transaction.paid'],
  ])('fails on %s', async (_, args, code, message) => {
    expect(await (await against()).ask('trigger', ...args)).toEqual(failed(code, message));
  });
});

describe('where there is no simulator', () => {
  const commands = [
    ['trigger', 'transaction.paid'],
    ['deliveries', 'list'],
    ['deliveries', 'show', 'x'],
    ['account'],
    ['keys', 'rotate'],
  ];

  test.each(commands)('%s %s ends with 3 when nothing listens', async (...args) => {
    const run = await runCli([...args, '--url', `http://127.0.0.1:${await refusingPort()}`]);
    expect(run).toEqual(failed(3, 'Start one with `payment-webhooks simulate`'));
  });

  // These two ask through json-client.ts and through the client.
  describe.each([
    [['trigger', 'transaction.paid'], 'http'],
    [['account'], 'https'],
  ])('%j ends with 3', (args, scheme) => {
    test('and says that fetch blocks the port', async () => {
      const reason =
        'Node blocks connections to port 1 ("bad port"), so http://127.0.0.1:1 cannot be reached. Use another port for --url';
      expect(await runCli([...args, '--url', 'http://127.0.0.1:1'])).toEqual(failed(3, reason));
    });

    test('when the host has no address', async () => {
      const run = await runCli([...args, '--url', `${scheme}://simulator.invalid:4747`]);
      expect(run).toEqual(failed(3, /ENOTFOUND|EAI_AGAIN/));
    });
  });

  test.each<[string, string, number?]>([
    ['a page', '<html>'],
    ['another API', '{"ok":true}'],
    ['a receiver', '{"message":"Unauthenticated."}', 401],
    ['an app of NestJS or Fastify', '{"message":"Cannot GET /_sim","statusCode":404}', 404],
  ])('%s at the address is told from a simulator', async (_, body, status = 200) => {
    const { url } = await endpoint((_received, response) => response.writeHead(status).end(body));
    expect(await runCli(['deliveries', 'list', '--url', url])).toEqual(failed(1, 'is not a simulator'));
  });

  test('an invalid address is wrong usage, and failures are JSON for programs', async () => {
    const { code, stderr } = await runCli(['deliveries', 'list', '--url', 'nonsense', '--json']);
    expect({ code, line: JSON.parse(stderr) }).toMatchObject({ code: 2, line: { error: { code: 'USAGE' } } });
  });
});
