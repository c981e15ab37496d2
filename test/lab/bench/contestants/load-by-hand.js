// By hand on Express 5: the same client, a claim before the handler and a mark after it, and no other promise.
import express from 'express';
import getRawBody from 'raw-body';
import {
  DUPLICATE,
  FAILED,
  INVALID,
  isAuthentic,
  LIMIT,
  MALFORMED,
  PROCESSED,
  schemas,
  send,
  UNAUTHENTICATED,
  UNREADABLE,
} from './by-hand.js';
import { handle, mysql, pool, redis, store } from './load-clients.js';

const LEASE_MS = 30_000;
const RETENTION_MS = 30 * 24 * 3_600_000;

await pool?.query(
  'CREATE TABLE IF NOT EXISTS seen (id text PRIMARY KEY, lease_until timestamptz, completed_at timestamptz)',
);

await mysql?.query(
  'CREATE TABLE IF NOT EXISTS seen (id varchar(255) PRIMARY KEY, lease_until datetime(6), completed_at datetime(6))',
);

const CLAIM = `INSERT INTO seen (id, lease_until) VALUES ($1, now() + interval '30 s') ON CONFLICT (id) DO UPDATE
  SET lease_until = excluded.lease_until WHERE seen.completed_at IS NULL AND seen.lease_until < now() RETURNING id`;
const COMPLETE = 'UPDATE seen SET completed_at = now() WHERE id = $1';
const MYSQL_CLAIM = `INSERT INTO seen (id, lease_until) VALUES (?, NOW(6) + INTERVAL 30 SECOND) ON DUPLICATE KEY UPDATE
  lease_until = IF(completed_at IS NULL AND lease_until < NOW(6), VALUES(lease_until), lease_until)`;
const MYSQL_COMPLETE = 'UPDATE seen SET completed_at = NOW(6) WHERE id = ?';
const CLAIM_IN_TRANSACTION = 'INSERT INTO seen (id, completed_at) VALUES ($1, now()) ON CONFLICT DO NOTHING';

const claims = {
  memory: async (event) => {
    if (seen.has(event.id)) return DUPLICATE;
    seen.add(event.id);
    await handle(event);
    return PROCESSED;
  },
  redis: async (event) => {
    const key = `seen:${event.id}`;
    if (!(await redis.call('SET', key, 'claimed', 'NX', 'PX', LEASE_MS))) return DUPLICATE;
    await handle(event);
    await redis.call('SET', key, 'completed', 'PX', RETENTION_MS);
    return PROCESSED;
  },
  postgres: async (event) => {
    const values = [event.id];
    const { rowCount } = await pool.query({ name: 'claim', text: CLAIM, values });
    if (rowCount === 0) return DUPLICATE;
    await handle(event);
    await pool.query({ name: 'complete', text: COMPLETE, values });
    return PROCESSED;
  },
  mysql: async (event) => {
    const [{ affectedRows }] = await mysql.execute(MYSQL_CLAIM, [event.id]);
    if (affectedRows === 0) return DUPLICATE;
    await handle(event);
    await mysql.execute(MYSQL_COMPLETE, [event.id]);
    return PROCESSED;
  },
  once: inTransaction,
};

async function inTransaction(event) {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const claim = { name: 'claim', text: CLAIM_IN_TRANSACTION, values: [event.id] };
    const { rowCount } = await client.query(claim);
    if (rowCount > 0) await handle(event, client);
    await client.query('COMMIT');
    client.release();
    return rowCount > 0 ? PROCESSED : DUPLICATE;
  } catch (error) {
    client.release(error);
    throw error;
  }
}

/** Of the memory: nobody forgets, since a run ends before that matters. */
const seen = new Set();
const claim = claims[store];

async function receive(bytes, signature) {
  if (!isAuthentic(bytes, signature)) return UNAUTHENTICATED;
  let event;
  try {
    event = JSON.parse(bytes.toString('utf8'));
  } catch {
    return MALFORMED;
  }
  const parsed = schemas.get(event?.event_name)?.safeParse(event);
  if (!parsed?.success) return INVALID;
  return claim(parsed.data).catch(() => FAILED);
}

export default express().post('/hooks', (req, res) => {
  const { headers } = req;
  getRawBody(req, { limit: LIMIT, length: headers['content-length'] }, (error, bytes) => {
    if (error) send(res, UNREADABLE);
    else receive(bytes, headers['x-service-signature']).then((answer) => send(res, answer));
  });
});
