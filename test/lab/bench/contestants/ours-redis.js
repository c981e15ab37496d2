// payment-webhooks with ids remembered in Redis.
import express from 'express';
import { Redis } from 'ioredis';
import { door } from './door.js';
import { hooks } from './hooks.js';

const { redisStore } = await door('stores/redis');
const client = new Redis(process.env.BENCH_REDIS_URL);
const store = redisStore({ sendCommand: (...args) => client.call(...args) });

export default express().post('/hooks', hooks({ store }));
