// Stores of event ids and of dead letters that several processes share, by the name of the database.
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { type DeadLetterStore, type IdempotencyStore, memoryStore } from 'payment-webhooks';
import { postgresDeadLetters, postgresStore, type WithOnce } from 'payment-webhooks/stores/postgres';
import { redisDeadLetters, redisStore } from 'payment-webhooks/stores/redis';
import { sqlDeadLetters, sqliteDatabase, sqlStore } from 'payment-webhooks/stores/sql';
import type { Pool, PoolClient } from 'pg';
import { openSqlite } from './open-sqlite.js';

/** In `once`, handlers should write inside `once`. `own claims` shares the letters alone, which is wrong. */
export type SharedMode = 'once' | 'postgres' | 'redis' | 'sqlite' | 'own claims';

export interface SharedStores {
  readonly store: IdempotencyStore<Partial<WithOnce<PoolClient>>>;
  readonly deadLetters: DeadLetterStore;
  migrate(): Promise<void>;
  close(): Promise<void>;
}

const encryptionKeys = [Buffer.alloc(32, 7)];

/** @param name of the schema in Postgres, which must exist, the prefix in Redis, or the file of SQLite */
export function sharedStores(
  mode: SharedMode,
  name: string,
  { pool, redisUrl }: { readonly pool: Pool; readonly redisUrl: string },
): SharedStores {
  if (mode === 'redis') {
    const client = new Redis(redisUrl);
    client.on('error', () => {});
    const sendCommand = (...args: [string, ...string[]]) => client.call(...args);
    return {
      store: redisStore({ sendCommand, prefix: `${name}:` }),
      deadLetters: redisDeadLetters({ sendCommand, prefix: `${name}:`, encryptionKeys }),
      migrate: async () => {},
      close: async () => void (await client.quit()),
    };
  }
  if (mode === 'sqlite') {
    const file = join(tmpdir(), `${name}.db`);
    const db = openSqlite(file);
    const store = sqlStore(sqliteDatabase(db));
    const deadLetters = sqlDeadLetters({ ...sqliteDatabase(db), encryptionKeys });
    return {
      store: store as IdempotencyStore<object>,
      deadLetters,
      migrate: async () => {
        await store.migrate();
        await deadLetters.migrate();
      },
      close: async () => {
        db.close();
        for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true });
      },
    };
  }
  const claims = postgresStore({ pool, table: `${name}.webhook_event` });
  const letters = postgresDeadLetters({ pool, table: `${name}.dead_letter`, encryptionKeys });
  return {
    store: mode === 'own claims' ? memoryStore() : claims,
    deadLetters: letters,
    migrate: async () => {
      await claims.migrate();
      await letters.migrate();
    },
    close: async () => {},
  };
}
