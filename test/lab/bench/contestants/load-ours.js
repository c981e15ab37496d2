// payment-webhooks on Express 5 with the store that is measured under load.
import express from 'express';
import { door } from './door.js';
import { hooks } from './hooks.js';
import { handle, store as name, pool, redis } from './load-clients.js';

async function open() {
  if (redis) {
    const { redisStore } = await door('stores/redis');
    return redisStore({ sendCommand: (...args) => redis.call(...args) });
  }
  if (!pool) return undefined;
  const { postgresStore } = await door('stores/postgres');
  const store = postgresStore({ pool });
  await store.migrate();
  return store;
}

const store = await open();
const handlers = {
  'transaction.paid': (event, { once }) =>
    name === 'once' ? once((tx) => handle(event, tx)) : handle(event),
};

export default express().post('/hooks', hooks({ ...(store && { store }), handlers }));
