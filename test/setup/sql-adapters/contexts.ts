// What the compiler knows of `once` with each client. Compiled, never run.
import type { Knex } from 'knex';
import type { Transaction as KyselyTransaction } from 'kysely';
import type { PoolConnection } from 'mysql2/promise';
import { receiver } from 'payment-webhooks';
import { type Once, sqlDeadLetters, sqlStore } from 'payment-webhooks/stores/sql';
import type { PoolClient } from 'pg';
import type { EntityManager } from 'typeorm';
import * as drizzle from './drizzle.js';
import type { Prisma } from './generated/client.js';
import * as knex from './knex.js';
import * as knexMysql from './knex-mysql.js';
import * as kysely from './kysely.js';
import * as mysql2 from './mysql2.js';
import * as pg from './pg.js';
import * as prisma from './prisma.js';
import * as typeorm from './typeorm.js';

declare function is<Expected>(): <Given>(
  given: (<T>() => T extends Expected ? 1 : 2) extends <T>() => T extends Given ? 1 : 2 ? Given : never,
) => void;

const name = 'transaction.paid';
receiver({ store: sqlStore(drizzle.database) }).on(name, (_, { once }) =>
  is<Once<drizzle.Transaction>>()(once),
);
receiver({ store: sqlStore(knex.database) }).on(name, (_, { once }) => is<Once<Knex.Transaction>>()(once));
receiver({ store: sqlStore(knexMysql.database) }).on(name, (_, { once }) =>
  is<Once<Knex.Transaction>>()(once),
);
receiver({ store: sqlStore(kysely.database) }).on(name, (_, { once }) =>
  is<Once<KyselyTransaction<kysely.Tables>>>()(once),
);
receiver({ store: sqlStore(mysql2.database) }).on(name, (_, { once }) => is<Once<PoolConnection>>()(once));
receiver({ store: sqlStore(pg.database) }).on(name, (_, { once }) => is<Once<PoolClient>>()(once));
receiver({ store: sqlStore(prisma.database) }).on(name, (_, { once }) =>
  is<Once<Prisma.TransactionClient>>()(once),
);
receiver({ store: sqlStore(typeorm.database) }).on(name, (_, { once }) => is<Once<EntityManager>>()(once));

// The same object is that of the letters.
sqlDeadLetters(drizzle.database);
sqlDeadLetters(knex.database);
sqlDeadLetters(kysely.database);
sqlDeadLetters(mysql2.database);
sqlDeadLetters(pg.database);
sqlDeadLetters(prisma.database);
sqlDeadLetters(typeorm.database);

// Straight from the client, without an adapter in a file of its own.
const inferred = receiver({
  store: sqlStore({
    dialect: 'postgres',
    client: prisma.prisma,
    query: (client, sql, values) => client.$queryRawUnsafe(sql, ...values),
    transaction: (work) => prisma.prisma.$transaction(work),
  }),
});
inferred.on(name, (_, { once }) => is<Once<Prisma.TransactionClient>>()(once));

// Without the option, handlers begin transactions themselves.
const { transaction: _, ...begun } = prisma.database;
receiver({ store: sqlStore(begun) }).on(name, (_event, { once }) =>
  prisma.prisma.$transaction((tx) => once(tx, () => tx.ledger.count())),
);
