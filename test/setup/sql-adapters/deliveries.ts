// A receiver whose claims, dead letters and ledger are one transaction of the client that CLIENT names. What happens when an
// event is handled for the first time is in its order id. /letters/<event> counts its letters, /replay/<event> replays them.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { receiver } from 'payment-webhooks';
import { type SqlDatabase, sqlDeadLetters, sqlStore } from 'payment-webhooks/stores/sql';

const { database, write, connect } = await import(`./ledger-${process.env.CLIENT}.ts`);
const { dialect, client, query }: SqlDatabase<object> = database;

/** Ends the connection while its transaction is idle, as a server does that fails over. */
async function terminate(transaction: object): Promise<void> {
  const postgres = dialect === 'postgres';
  const whose = postgres ? 'SELECT pg_backend_pid() AS id' : 'SELECT connection_id() AS id';
  const [{ id }] = (await query(transaction, whose, [])) as [{ id: number | bigint }];
  await query(client, postgres ? `SELECT pg_terminate_backend(${id})` : `KILL ${id}`, []);
}

const firstTime: Readonly<Record<string, (transaction: object) => unknown>> = {
  'a handler that fails': () => Promise.reject(new Error('The ledger is closed.')),
  'a slow handler': () => pause(300),
  'a connection that is lost': terminate,
  'a failed statement that is ignored': async (transaction) => {
    await Promise.resolve(query(transaction, 'SELECT nothing FROM nowhere', [])).catch(() => {});
  },
  'a handler that commits': (transaction) => query(transaction, 'COMMIT', []),
};
const seen = new Set<string>();

await connect();
const store = sqlStore(database);
const deadLetters = sqlDeadLetters(database);
await Promise.all([store.migrate(), deadLetters.migrate()]);
const hooks = receiver({ store, deadLetters, privateKey: 'pri_sql', logger: false });
hooks.on('transaction.paid', async (event, { transaction }) => {
  const { amount, order_id } = event.payload.transaction;
  await write(transaction, event.id, amount);
  if (seen.has(event.id)) return;
  seen.add(event.id);
  await firstTime[order_id]?.(transaction as object);
});

const server = createServer(async (req, res) => {
  const [, verb, eventId = ''] = (req.url ?? '').split('/');
  if (verb !== 'letters' && verb !== 'replay') return hooks(req, res);
  if (verb === 'replay') await hooks.deadLetters.replay({ eventId });
  let letters = 0;
  for await (const _letter of hooks.deadLetters.list({ eventId })) letters += 1;
  res.end(JSON.stringify({ letters }));
});
server.listen(0, '127.0.0.1', () => {
  console.log(`Listening on ${(server.address() as AddressInfo).port}.`);
});
