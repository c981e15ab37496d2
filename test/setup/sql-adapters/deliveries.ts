// A receiver whose handler writes inside once(), through the client that CLIENT names. The order id has the form of once(), and
// what happens when the event is handled for the first time. /letters/<event> counts its letters, /replay/<event> replays them.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { receiver } from 'payment-webhooks';
import { type RunTransaction, type SqlDatabase, sqlDeadLetters, sqlStore } from 'payment-webhooks/stores/sql';

type Database = SqlDatabase<object, object> & { readonly transaction: RunTransaction<object> };
const { database, write, connect } = await import(`./ledger-${process.env.CLIENT}.ts`);
const { dialect, client, query, transaction }: Database = database;

/** Ends the connection while its transaction is idle, as a server does that fails over. */
async function terminate(tx: object): Promise<void> {
  const postgres = dialect === 'postgres';
  const whose = postgres ? 'SELECT pg_backend_pid() AS id' : 'SELECT connection_id() AS id';
  const [{ id }] = (await query(tx, whose, [])) as [{ id: number | bigint }];
  await query(client, postgres ? `SELECT pg_terminate_backend(${id})` : `KILL ${id}`, []);
}

const INSIDE: Readonly<Record<string, (tx: object) => unknown>> = {
  'a handler that fails': () => Promise.reject(new Error('The ledger is closed.')),
  'a slow handler': () => pause(300),
  'a connection that is lost': terminate,
  'a failed statement that is ignored': async (tx) => {
    await Promise.resolve(query(tx, 'SELECT nothing FROM nowhere', [])).catch(() => {});
  },
  'a handler that commits': (tx) => query(tx, 'COMMIT', []),
};
const seen = new Set<string>();

await connect();
const store = sqlStore<object, object>(database);
const deadLetters = sqlDeadLetters(database);
await Promise.all([store.migrate(), deadLetters.migrate()]);
const hooks = receiver({ store, deadLetters, privateKey: 'pri_sql', logger: false });
hooks.on(
  'transaction.paid',
  async (event, { once }) => {
    const { amount, order_id } = event.payload.transaction;
    const [form, scene = ''] = order_id.split(': ');
    const first = !seen.has(event.id);
    seen.add(event.id);
    const work = async (tx: object) => {
      await write(tx, event.id, amount);
      if (first) await INSIDE[scene]?.(tx);
    };
    if (first && scene === 'the client itself') await once(client, () => work(client));
    else if (form === 'once(work)') await once(work);
    else await transaction(async (tx) => void (await once(tx, () => work(tx))));
    if (first && scene === 'a failure after it') throw new Error('The mail server is down.');
  },
  { name: 'ledger' },
);

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
