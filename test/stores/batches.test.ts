// Deliveries in flight share the statements of the SQL stores: on every database, by every kind of client.
import { afterAll, beforeAll, describe } from '@jest/globals';
import { ownMariadb, withMariadb } from '../setup/own-mariadb.js';
import { needing } from '../setup/platform.js';
import { type BatchWorld, batchesOnMariadb, batchesOnPostgres, batchesOnSqlite } from './batch-worlds.js';
import {
  keepsLockedRowsApart,
  readsRowsByTheirKey,
  sharesCompletionsOfOnce,
  sharesStatements,
} from './batches.js';
import { BY_PG } from './worlds.js';

/** To be read in tests. */
function own(make: () => Promise<BatchWorld>): BatchWorld {
  let world: BatchWorld | undefined;
  beforeAll(async () => {
    world = await make();
  }, 120_000);
  afterAll(() => world?.close());
  return new Proxy({} as BatchWorld, { get: (_, name) => Reflect.get(world ?? {}, name) });
}

needing('postgres').describe.each(BY_PG)('calls in flight, in %s on Postgres', (by) => {
  const world = own(() => batchesOnPostgres(by));
  sharesStatements(world);
  keepsLockedRowsApart(world);
  sharesCompletionsOfOnce(world);
});

// Both send the same SQL.
needing('postgres').describe('the plans of Postgres', () => {
  readsRowsByTheirKey(own(() => batchesOnPostgres('sqlStore')));
});

withMariadb('calls in flight, on MariaDB', () => {
  const mariadb = ownMariadb();
  describe.each(['query', 'execute'] as const)('through %s of mysql2', (verb) => {
    const world = own(() => batchesOnMariadb(mariadb, verb));
    sharesStatements(world);
    keepsLockedRowsApart(world);
    sharesCompletionsOfOnce(world);
    if (verb === 'execute') readsRowsByTheirKey(world);
  });
});

needing('SQLite').describe('calls in flight, on SQLite', () => {
  describe('by a synchronous driver', () => {
    const world = own(() => batchesOnSqlite(false));
    sharesStatements(world);
    sharesCompletionsOfOnce(world);
    readsRowsByTheirKey(world);
  });
  describe('by a client that answers by promises', () => {
    const world = own(() => batchesOnSqlite(true));
    sharesStatements(world);
  });
});
