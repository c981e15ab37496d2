import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fixtures } from 'payment-webhooks/testing';
import { deliverQuietly } from '../setup/deliver-quietly.js';
import { hmac } from '../setup/delivery.js';
import { codeBlocks } from '../setup/markdown.js';
import { needing } from '../setup/platform.js';
import { followReadme, type Session } from '../setup/readme.js';
import { ROOT } from '../setup/shell.js';

process.env.SERVICE_PRIVATE_KEY = 'pri_existing';
const privateKey = 'pri_existing';
const app = import('../../examples/existing-app/app.js').then((module) => module.app);
const paidOrders = import('../../examples/existing-app/handlers.js').then((module) => module.paidOrders);

describe.each(['above', 'keeping', 'sparing'])('the placement %s', (placement) => {
  test('receives deliveries', async () => {
    const event = fixtures.transactionPaid({ payload: { transaction: { order_id: placement } } });
    const answer = await deliverQuietly(await app, event, { privateKey, path: `/${placement}/hooks` });
    expect(answer).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    expect([...(await paidOrders)]).toContain(placement);
  });

  test('leaves the other routes their JSON', async () => {
    const options = { privateKey, path: `/${placement}/orders` };
    const answer = await deliverQuietly(await app, { item: 'lamp' }, options);
    expect(answer).toMatchObject({ status: 201, body: { ordered: 'lamp' } });
  });
});

const blocks = codeBlocks(join(ROOT, 'examples/existing-app/README.md'));

needing('curl').describe('its README', () => {
  const shownHint = blocks
    .find(({ text }) => text.includes('read the body before the receiver'))
    ?.text.trim();
  let session: Session;

  beforeAll(async () => {
    session = await followReadme('existing-app');
  }, 90_000);

  afterAll(() => session?.end());

  const linesWith = (text: string) =>
    session.app
      .output()
      .split('\n')
      .filter((line) => line.includes(text));

  test('shows how the wrong placement is answered, and that the log says which line to change', async () => {
    const [{ script = '', shown = '' } = {}] = session.commands;
    expect(await session.type(script)).toBe(shown);
    await session.app.printed(/BODY_CONSUMED.*\n/);
    const lines = linesWith('BODY_CONSUMED');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 50, status: 500, hint: shownHint });
  });

  test('shows the only wrong placement: the others take the same delivery', async () => {
    const [{ script = '' } = {}] = session.commands;
    for (const placement of ['above', 'keeping', 'sparing']) {
      const answer = await session.type(script.replace('/wrong/', `/${placement}/`));
      expect(answer).toBe('{"received":true,"outcome":"ignored"}');
    }
  });

  test('shows a redaction that keeps the signature out of the log of pino-http', async () => {
    const [, { script = '', shown = '' } = {}] = session.commands;
    expect(await session.type(script)).toBe(shown);
    await session.app.printed(/request completed.*\n/);
    const lines = linesWith('"req":');
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) expect(line).toContain('"x-service-signature":"[Redacted]"');
    const [, body = ''] = /^body='(.*)'$/m.exec(script) ?? [];
    expect(session.app.output()).not.toContain(hmac(body, 'pri_example'));
  });

  test('has the redaction of request-log.ts', () => {
    const program = readFileSync(join(ROOT, 'examples/existing-app/request-log.ts'), 'utf8');
    const shown = blocks.find(({ text }) => text.includes('redact:'))?.text ?? '';
    expect(program).toContain(shown.slice(shown.indexOf('export')).trim());
  });
});
