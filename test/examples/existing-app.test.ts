import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fixtures } from 'payment-webhooks/testing';
import { deliverQuietly } from '../setup/deliver-quietly.js';
import { codeBlocks } from '../setup/markdown.js';
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
    const answer = await deliverQuietly(
      await app,
      { item: 'lamp' },
      { privateKey, path: `/${placement}/orders` },
    );
    expect(answer).toMatchObject({ status: 201, body: { ordered: 'lamp' } });
  });
});

describe('the wrong placement, as its README shows it', () => {
  const blocks = codeBlocks(join(ROOT, 'examples/existing-app/README.md'));
  const shownHint = blocks.at(-1)?.text.trim();
  let session: Session;

  beforeAll(async () => {
    session = await followReadme('existing-app');
  }, 30_000);

  afterAll(() => session?.end());

  test('is answered at once, and the log says which line to change', async () => {
    const [{ script = '', shown = '' } = {}] = session.commands;
    expect(await session.type(script)).toBe(shown);
    await session.app.printed('BODY_CONSUMED');
    const lines = session.app
      .output()
      .split('\n')
      .filter((line) => line.includes('BODY_CONSUMED'));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 50, status: 500, hint: shownHint });
  });

  test('is the only wrong one: the same delivery is taken by the others', async () => {
    const [{ script = '' } = {}] = session.commands;
    for (const placement of ['above', 'keeping', 'sparing']) {
      const answer = await session.type(script.replace('/wrong/', `/${placement}/`));
      expect(answer).toBe('{"received":true,"outcome":"ignored"}');
    }
  });
});
