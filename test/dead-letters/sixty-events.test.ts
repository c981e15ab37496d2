// The 60 events that the first version lost: undeclared, drifted, and failed for longer than the service retries.
import { describe, expect, test } from '@jest/globals';
import { memoryDeadLetters, memoryStore, receiver } from 'payment-webhooks';
import { z } from 'zod';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery, KEY } from '../setup/delivery.js';

const NEW_KEY = 'pri_9d1c7b5a3f2e4d6c8b0a1f3e';
const TWENTY = Array.from({ length: 20 }, (_, index) => index);

const undeclared = TWENTY.map((index) =>
  fixtures.event('refund.succeeded', { refund: { id: `r-${index}` } }),
);
const drifted = TWENTY.map((index) => ({
  ...fixtures.event('payout.sent', { metadata: [], id: `p-${index}` }),
}));
const unlucky = TWENTY.map(() => fixtures.transactionPaid());
const refund = z.looseObject({ refund: z.looseObject({ id: z.string() }) });
const strict = z.looseObject({ metadata: z.record(z.string(), z.unknown()) });
const loose = z.looseObject({ metadata: z.union([z.record(z.string(), z.unknown()), z.array(z.never())]) });

/** Two deployments of one app: the second has the schemas and the database fixed. */
function deployments(newKey: string) {
  const store = memoryStore();
  const deadLetters = memoryDeadLetters();
  const ledger: string[] = [];
  const common = { store, deadLetters, logger: false } as const;
  const before = receiver({
    ...common,
    privateKey: KEY,
    events: { 'payout.sent': strict },
    handlers: {
      '*': () => {
        throw new Error('the database is down');
      },
    },
  });
  const after = receiver({
    ...common,
    privateKey: newKey,
    events: { 'payout.sent': loose, 'refund.succeeded': refund },
    handlers: { '*': (event) => void ledger.push(event.id) },
  });
  return { before, after, ledger };
}

describe.each([
  ['with the same key', KEY],
  ['with the key rotated in between', NEW_KEY],
])('60 events that could not be processed, %s', (_, newKey) => {
  test('are all processed after the fix, each once', async () => {
    const { before, after, ledger } = deployments(newKey);
    const sent = [...undeclared, ...drifted, ...unlucky];
    const statuses: number[] = [];
    for (const event of sent) {
      // The service retries what is not answered 2xx, and gives up after three attempts.
      for (let tries = 0, status = 0; tries < 3 && status !== 200; tries += 1) {
        const { body: rawBody, headers } = delivery(event);
        ({ status } = await before.receive({ rawBody, headers }));
        statuses.push(status);
      }
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(40);
    expect(statuses.filter((status) => status === 500)).toHaveLength(60);
    expect(ledger).toEqual([]);

    const report = await after.deadLetters.replay({ keys: newKey === KEY ? 'configured' : 'any' });
    expect(report).toMatchObject({
      processed: 60,
      failed: 0,
      stillUnknown: 0,
      stillInvalid: 0,
      inProgress: 0,
    });
    expect(ledger.sort()).toEqual(sent.map(({ id }) => id).sort());
    expect(await after.deadLetters.replay()).toMatchObject({ processed: 0 });
    for (const event of sent) {
      const { body: rawBody, headers } = delivery(event, newKey);
      expect(JSON.parse((await after.receive({ rawBody, headers })).body)).toMatchObject({
        outcome: 'duplicate',
      });
    }
    expect(ledger).toHaveLength(60);
    for await (const letter of after.deadLetters.list())
      throw new Error(`a letter is left: ${letter.reason}`);
  });
});
