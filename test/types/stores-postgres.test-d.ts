// What the compiler knows of `payment-webhooks/stores/postgres`: checked by `npm run typecheck`, never run.
import { type Client, Pool, type PoolClient } from 'pg';
import type { IdempotencyStore } from '../../src/contracts/idempotency-store.js';
import {
  type Once,
  type PostgresClient,
  type PostgresPool,
  postgresStore,
} from '../../src/stores/postgres.js';
import { is } from './is.js';

type ContextOf<Store> = Store extends IdempotencyStore<infer Extra> ? Extra : never;
declare function contextOf<Store>(store: Store): ContextOf<Store>;

const pool = new Pool();

const { once } = contextOf(postgresStore({ pool }));
is<Once<PoolClient>>()(once);
is<Promise<number | null | undefined>>()(once(async (tx) => (await tx.query('SELECT')).rowCount));
is<Promise<string | undefined>>()(once(await pool.connect(), () => 'done'));
// @ts-expect-error a pool is no transaction
once(pool, () => {});
// @ts-expect-error it resolves with what the work returns, and not with whether it ran
if (!(await once(() => 'done'))) is<boolean>()(await once(() => 'done'));

// @ts-expect-error writes are committed by once()
postgresStore({ pool, transactional: true });
// @ts-expect-error
contextOf(postgresStore({ pool })).transaction;

interface OwnClient extends PostgresClient {
  readonly own: true;
}
interface OwnPool extends PostgresPool {
  connect(): Promise<OwnClient>;
}
declare const ownPool: OwnPool;
is<Once<OwnClient>>()(contextOf(postgresStore({ pool: ownPool })).once);

declare const client: Client;
// @ts-expect-error a single client cannot lend others
postgresStore({ pool: client });

// @ts-expect-error a connection string is no pool
postgresStore({ pool: 'postgres://localhost' });
