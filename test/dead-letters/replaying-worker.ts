// One of several processes that replay the same letters, and take deliveries as well.
import { setTimeout as pause } from 'node:timers/promises';
import { receiver } from 'payment-webhooks';
import type { WithOnce } from 'payment-webhooks/stores/postgres';
import { Pool, type PoolClient } from 'pg';
import { z } from 'zod';
import { KEY } from '../setup/delivery.js';
import { type SharedMode, sharedStores } from '../setup/shared-stores.js';

/** What a worker is asked, and answers with the same number. */
export type Question = { readonly number: number } & (
  | { readonly deliver: { readonly body: string; readonly headers: Record<string, string> } }
  | { readonly replay: { readonly concurrency: number } }
);

/** With options for `redrive`, as JSON, the letters retry themselves. */
const [mode, name = '', longest, redrive] = process.argv.slice(2) as [SharedMode, string, string, string?];
const { TEST_POSTGRES_URL: connectionString, TEST_REDIS_URL: redisUrl = '' } = process.env;
const pool = new Pool({ connectionString, max: 20 });
// Outside of `once`, so that a run is seen while it runs.
const runs = new Pool({ connectionString, max: 20 });

const refund = z.looseObject({ fails: z.number() });

async function handle({ id, payload }: { id: string; payload: { fails: number } }, context: object) {
  const { rows } = await runs.query(
    `INSERT INTO ${name}.run (event_id) VALUES ($1)
     RETURNING number, (SELECT count(*)::int FROM ${name}.run WHERE event_id = $1) AS before`,
    [id],
  );
  const [{ number, before }] = rows;
  try {
    await pause(Math.random() * Number(longest));
    if (before < payload.fails) throw new Error('the bank is down');
    const write = (by: Pool | PoolClient) => by.query(`INSERT INTO ${name}.effect VALUES ($1)`, [id]);
    await (mode === 'once' ? (context as WithOnce<PoolClient>).once(write) : write(runs));
  } finally {
    await runs.query(`UPDATE ${name}.run SET ended = clock_timestamp() WHERE number = $1`, [number]);
  }
}

const { store, deadLetters } = sharedStores(mode, name, { pool, redisUrl });
const hooks = receiver({
  privateKey: KEY,
  logger: false,
  store,
  deadLetters,
  events: { 'refund.succeeded': refund },
  // Killed on purpose: the next process need not wait for long.
  ...(redrive && {
    redrive: JSON.parse(redrive),
    lease: '2s',
    observer: {
      exhausted: ({ id }) => void runs.query(`INSERT INTO ${name}.exhausted VALUES ($1)`, [id]),
    },
  }),
});
hooks.on('refund.succeeded', handle, { name: 'refund' });
hooks.start();

process.on('message', async ({ number, ...question }: Question) => {
  if ('replay' in question) {
    process.send?.({ number, answer: await hooks.deadLetters.replay(question.replay) });
    return;
  }
  const { body, headers } = question.deliver;
  const { body: text } = await hooks.receive({ rawBody: Buffer.from(body, 'base64'), headers });
  process.send?.({ number, answer: JSON.parse(text) });
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
