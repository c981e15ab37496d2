// payment-webhooks on Express 5 with the store that is measured under load.
import express from 'express';
import { door } from './door.js';
import { hooks } from './hooks.js';
import { handle, mysql, store as name, pool, redis } from './load-clients.js';

async function open() {
  if (redis) {
    const { redisStore } = await door('stores/redis');
    return redisStore({ sendCommand: (...args) => redis.call(...args) });
  }
  if (mysql) {
    const { sqlStore } = await door('stores/sql');
    const query = async (client, sql, values) => (await client.execute(sql, values))[0];
    return sqlStore({ dialect: 'mysql', client: mysql, query });
  }
  if (!pool) return undefined;
  const { postgresStore } = await door('stores/postgres');
  return postgresStore({ pool });
}

const store = await open();
await store?.migrate?.();
const handlers = {
  'transaction.paid': (event, { once }) =>
    name === 'once' ? once((tx) => handle(event, tx)) : handle(event),
};

export default express().post('/hooks', hooks({ ...(store && { store }), handlers }));
