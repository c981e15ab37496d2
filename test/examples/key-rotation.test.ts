import { describe, expect, test } from '@jest/globals';
import { fixtures } from 'payment-webhooks/testing';
import { deliverQuietly } from '../setup/deliver-quietly.js';

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
