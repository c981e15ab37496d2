// What the compiler knows of `payment-webhooks/stores/postgres`: checked by `npm run typecheck`, never run.
import { type Client, Pool, type PoolClient } from 'pg';
import type { IdempotencyStore } from '../../src/claims/idempotency-store.js';
import { type PostgresClient, type PostgresPool, postgresStore } from '../../src/stores/postgres.js';
import { is } from './is.js';

type ContextOf<Store> = Store extends IdempotencyStore<infer Extra> ? Extra : never;
declare function contextOf<Store>(store: Store): ContextOf<Store>;

const pool = new Pool();

const transactional = postgresStore({ pool, transactional: true });
is<PoolClient>()(contextOf(transactional).transaction);

const leased = postgresStore({ pool });
// @ts-expect-error handlers get a transaction only when the store is told to open one
contextOf(leased).transaction;

const maybe = postgresStore({ pool, transactional: Boolean(process.env.TRANSACTIONAL) });
// @ts-expect-error nor when nobody can say before the program runs
contextOf(maybe).transaction;

interface OwnClient extends PostgresClient {
  readonly own: true;
}
interface OwnPool extends PostgresPool {
  connect(): Promise<OwnClient>;
}
declare const ownPool: OwnPool;
is<OwnClient>()(contextOf(postgresStore({ pool: ownPool, transactional: true })).transaction);

declare const client: Client;
// @ts-expect-error a single client cannot lend others
postgresStore({ pool: client });

// @ts-expect-error a connection string is no pool
postgresStore({ pool: 'postgres://localhost' });
