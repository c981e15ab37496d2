// 60 events that a receiver cannot process: 20 undeclared, 20 drifted, 20 killed with it on their last retry. After the fix,
// with another private key, all are replayed by the page.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startSimulator } from 'payment-webhooks/simulator';
import pg from 'pg';

const EACH = 20;
const RETRIES = ['1m', '5m', '30m'];
const WITHOUT_THE_LAST = '6m';
/** Less than the test that runs this waits, so that it ends by itself and says why. */
const PATIENCE_MS = 60_000;

const url = process.env.TEST_POSTGRES_URL;
const ledger = `ledger_${randomBytes(6).toString('hex')}`;
const ledgerUrl = Object.assign(new URL(url), { pathname: ledger }).href;
const admin = new pg.Pool({ connectionString: url, max: 1 });
await admin.query(`CREATE DATABASE ${ledger}`);
const db = new pg.Pool({ connectionString: ledgerUrl });
db.on('error', () => {});
await db.query('CREATE TABLE ledger (event_id text NOT NULL, event_name text NOT NULL)');

const service = await startSimulator({ port: 0, retry: RETRIES, timeout: 120_000 });
const letterKey = randomBytes(32).toString('base64');
let app;
let page;
let webhook;

async function deploy(fixed) {
  const env = {
    ...process.env,
    PRIVATE_KEY: service.privateKey,
    LETTER_KEY: letterKey,
    LEDGER_URL: ledgerUrl,
    FIXED: String(fixed),
  };
  app = fork(fileURLToPath(new URL('app.js', import.meta.url)), { env });
  const ended = once(app, 'exit').then(([code]) => Promise.reject(new Error(`The app ended with ${code}.`)));
  const [port] = await Promise.race([once(app, 'message'), ended]);
  ended.catch(() => {});
  page = `http://127.0.0.1:${port}/ops/webhooks`;
  const address = { url: `http://127.0.0.1:${port}/hooks` };
  webhook = webhook
    ? await service.webhooks.update(webhook.id, address)
    : await service.webhooks.create(address);
}

async function end(signal) {
  const ended = once(app, 'exit');
  app.kill(signal);
  await ended;
}

async function ask(path, body) {
  const headers = { authorization: 'Bearer ops', 'content-type': 'application/json' };
  const posted = body && { method: 'POST', body: JSON.stringify(body) };
  const answer = await fetch(`${page}/${path}`, { headers, ...posted });
  assert.equal(answer.status, 200);
  const lines = (await answer.text()).trim().split('\n');
  return JSON.parse(lines.at(-1));
}

const count = async (text, values) => Number((await db.query(text, values)).rows[0].count);
const rowsInLedger = () => count('SELECT count(*) FROM ledger');
const stuckOnLedger = () =>
  count(
    `SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock' AND query LIKE 'INSERT INTO ledger%'`,
    [ledger],
  );

/** The process is down until the last retry, and is killed while its handlers run. */
async function kill() {
  await end('SIGTERM');
  await service.trigger('transaction.paid', {}, { count: EACH });
  await service.advance(WITHOUT_THE_LAST);
  await deploy(false);
  const client = await db.connect();
  await client.query('BEGIN; LOCK TABLE ledger IN SHARE MODE');
  const lastRetry = service.advance(RETRIES.at(-1));
  await until(async () => (await stuckOnLedger()) === EACH);
  await end('SIGKILL');
  await lastRetry;
  await client.query('COMMIT');
  client.release();
}

async function receive() {
  await deploy(false);
  for (let index = 0; index < EACH; index += 1) {
    await service.trigger('refund.succeeded', { payload: { refund: { id: `r-${index}` } } });
    await service.trigger('payout.sent', { payload: { id: `p-${index}`, metadata: [] } });
  }
  await kill();
  const deliveries = service.deliveries();
  assert.equal(deliveries.length, 3 * EACH);
  for (const { event_name, status, attempts } of deliveries) {
    const isUnlucky = event_name === 'transaction.paid';
    assert.equal(status, isUnlucky ? 'failed' : 'delivered');
    assert.equal(attempts.length, isUnlucky ? 1 + RETRIES.length : 1);
    assert.equal(attempts.at(-1).response?.status, isUnlucky ? undefined : 200);
    if (!isUnlucky) assert.equal(attempts.at(-1).outcome, 'kept');
  }
  assert.equal(await rowsInLedger(), 0);
}

async function until(condition) {
  for (const end = performance.now() + PATIENCE_MS; !(await condition()); await pause(20))
    assert.ok(performance.now() < end, `still not so: ${condition}`);
}

/** Again until the claims of a killed process have lapsed. A rotated key did not leak, so its letters are authentic. */
async function replay() {
  let processed = 0;
  await until(async () => {
    const { report } = await ask('replay', { keys: 'any' });
    processed += report.processed;
    const { failed, stillUnknown, stillInvalid, conflicts, unreadable, duplicates, inProgress } = report;
    assert.deepEqual(
      [failed, stillUnknown, stillInvalid, conflicts, unreadable, duplicates],
      [0, 0, 0, 0, 0, 0],
    );
    return inProgress === 0;
  });
  return processed;
}

try {
  await receive();
  service.rotateKey({ privateKey: 'pri_sim_of_today' });
  await deploy(true);
  const { groups } = await ask('summary');
  const kept = Object.fromEntries(groups.map((group) => [group.reason, group.count]));
  assert.deepEqual(kept, { unknown: EACH, invalid: EACH, unfinished: EACH });
  const processed = await replay();
  for (const { id } of service.deliveries()) {
    const { attempts } = await service.resend(id);
    assert.equal(attempts.at(-1).outcome, 'duplicate');
  }
  const { rows } = await db.query('SELECT event_id FROM ledger ORDER BY 1');
  const sent = service.deliveries().map(({ event_id }) => event_id);
  assert.deepEqual(rows.map((row) => row.event_id).sort(), sent.sort());
  assert.equal((await ask('summary')).total, 0);
  console.log(`${processed} of ${sent.length} processed, ${rows.length} rows in the ledger`);
} finally {
  app?.kill();
  await service.close();
  await db.end();
  await admin.query(`DROP DATABASE ${ledger} WITH (FORCE)`);
  await admin.end();
}
