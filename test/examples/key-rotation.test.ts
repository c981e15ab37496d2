import { expect, test } from '@jest/globals';
import { fixtures } from 'payment-webhooks/testing';
import { deliverQuietly } from '../setup/deliver-quietly.js';

process.env.SERVICE_PRIVATE_KEY = 'pri_new';
process.env.SERVICE_PRIVATE_KEY_OLD = 'pri_old';
const example = import('../../examples/key-rotation/app.js');

test.each([
  ['the new key leaves no trace of the old one', 'pri_new', 200, undefined],
  ['the old key is taken, and noted', 'pri_old', 200, expect.any(Date)],
  ['any other key is refused', 'pri_older', 401, expect.any(Date)],
])('a delivery signed with %s', async (_, privateKey, status, oldKeyLastUsed) => {
  const { app } = await example;
  const answer = await deliverQuietly(app, fixtures.transactionPaid(), { privateKey });
  expect({ status: answer.status, used: (await example).oldKeyLastUsed }).toEqual({
    status,
    used: oldKeyLastUsed,
  });
});
