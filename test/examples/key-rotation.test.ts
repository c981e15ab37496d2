import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fixtures } from 'payment-webhooks/testing';
import { deliverQuietly } from '../setup/deliver-quietly.js';
import { needing } from '../setup/platform.js';
import { followReadme, type Session } from '../setup/readme.js';

process.env.SERVICE_PRIVATE_KEY = 'pri_new';
process.env.SERVICE_PRIVATE_KEY_OLD = 'pri_old';
const example = import('../../examples/key-rotation/app.js');

describe('while both keys are configured', () => {
  test('a delivery signed with the new key leaves no trace of the old one', async () => {
    const { app } = await example;
    const answer = await deliverQuietly(app, fixtures.transactionPaid(), { privateKey: 'pri_new' });
    expect(answer.status).toBe(200);
    expect((await example).oldKeyLastUsed).toBeUndefined();
  });

  test('one signed with the old key is taken, and noted', async () => {
    const { app } = await example;
    const answer = await deliverQuietly(app, fixtures.transactionPaid(), { privateKey: 'pri_old' });
    expect(answer.status).toBe(200);
    expect((await example).oldKeyLastUsed).toBeInstanceOf(Date);
  });

  test('one signed with any other key is refused', async () => {
    const { app } = await example;
    const answer = await deliverQuietly(app, fixtures.transactionPaid(), { privateKey: 'pri_older' });
    expect(answer.status).toBe(401);
  });
});

needing('curl').describe('the commands of its README', () => {
  let session: Session;

  beforeAll(async () => {
    session = await followReadme('key-rotation');
  }, 90_000);

  afterAll(() => session?.end());

  test('are answered as it shows, and the log names the key', async () => {
    const [{ script = '', shown = '' } = {}] = session.commands;
    expect(await session.type(script)).toBe(shown);
    await session.app.printed('"keyIndex":1');
  });
});
