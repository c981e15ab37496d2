// A merchant's receiver in a process of its own, as it was deployed before the fix or after it.
import { once } from 'node:events';
import express from 'express';
import { receiver } from 'payment-webhooks';
import { deadLetterPage } from 'payment-webhooks/ops';
import { postgresDeadLetters, postgresStore } from 'payment-webhooks/stores/postgres';
import pg from 'pg';
import { z } from 'zod';

const { PRIVATE_KEY, LETTER_KEY, LEDGER_URL, FIXED } = process.env;
const isFixed = FIXED === 'true';

const pool = new pg.Pool({ connectionString: LEDGER_URL, max: 45, connectionTimeoutMillis: 20_000 });

const store = postgresStore({ pool });
const deadLetters = postgresDeadLetters({ pool, encryptionKeys: [LETTER_KEY] });
await store.migrate();
await deadLetters.migrate();

const anyMap = z.record(z.string(), z.unknown());
const before = { 'payout.sent': z.looseObject({ metadata: anyMap }) };
const after = {
  'payout.sent': z.looseObject({ metadata: z.union([anyMap, z.array(z.never())]) }),
  'refund.succeeded': z.looseObject({ refund: z.looseObject({ id: z.string() }) }),
};

const hooks = receiver({
  privateKey: PRIVATE_KEY,
  store,
  deadLetters,
  events: isFixed ? after : before,
  journal: true,
  // A busy machine is not what this is about.
  storeTimeout: 20_000,
  timeout: 60_000,
  logger: false,
});
const book = async ({ id, event_name }, { once }) => {
  const insert = 'INSERT INTO ledger (event_id, event_name) VALUES ($1, $2)';
  await once((tx) => tx.query(insert, [id, event_name]));
};
hooks.on('*', book, { name: 'book' });

const app = express();
app.post('/hooks', hooks);
const authorize = (req) => req.get('authorization') === 'Bearer ops' && 'ada';
app.use('/ops/webhooks', deadLetterPage(hooks, { authorize, logger: false }));
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
process.send(server.address().port);

process.once('disconnect', () => process.exit());
