// payment-webhooks with ids remembered in Postgres.
import express from 'express';
import { Pool } from 'pg';
import { door } from './door.js';
import { hooks } from './hooks.js';

const { postgresStore } = await door('stores/postgres');
const pool = new Pool({ connectionString: process.env.BENCH_POSTGRES_URL, max: 20 });
const store = postgresStore({ pool, transactional: process.env.BENCH_TRANSACTIONAL !== undefined });
await store.migrate();

export default express().post('/hooks', hooks({ store }));
