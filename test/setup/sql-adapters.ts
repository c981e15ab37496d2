// The clients that sqlStore() is tested with, and a folder in which their adapters of examples/sql-clients run.
import { execFile, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface SqlClient {
  /** Of the adapter in examples/sql-clients. */
  readonly name: string;
  readonly server: 'Postgres' | 'MariaDB';
}

export const SQL_CLIENTS: readonly SqlClient[] = [
  { name: 'pg', server: 'Postgres' },
  { name: 'prisma', server: 'Postgres' },
  { name: 'typeorm', server: 'Postgres' },
  { name: 'knex', server: 'Postgres' },
  { name: 'drizzle', server: 'Postgres' },
  { name: 'kysely', server: 'Postgres' },
  { name: 'knex-mysql', server: 'MariaDB' },
  { name: 'mysql2', server: 'MariaDB' },
];

/** As npm takes them: each in the newest version that runs on this Node. */
export const SQL_PACKAGES: readonly string[] = [
  ...['prisma@7', '@prisma/client@7', '@prisma/adapter-pg@7', 'typeorm@1', 'knex@3', 'drizzle-orm'],
  Number.parseInt(process.versions.node, 10) < 22 ? 'kysely@0.28' : 'kysely',
  ...['mysql2', 'pg', '@types/pg'],
];

export function hasMariadb(): boolean {
  return spawnSync('mariadbd', ['--version']).status === 0;
}

const FOLDERS = ['examples/sql-clients', 'test/setup/sql-adapters'];

/**
 * @param root of the repository
 * @param folder where the packages are installed
 * @returns the folder in it with the adapters, and with what the tests do with them
 */
export async function copySqlClients(root: string, folder: string): Promise<string> {
  const app = join(folder, 'app');
  mkdirSync(app, { recursive: true });
  for (const source of FOLDERS.map((name) => join(root, name))) {
    for (const file of readdirSync(source)) copyFileSync(join(source, file), join(app, file));
  }
  // Prisma would fetch a program for migrations, and need it for nothing here.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' };
  const prisma = join(folder, 'node_modules/prisma/build/index.js');
  await run(process.execPath, [prisma, 'generate', '--schema', 'schema.prisma'], { cwd: app, env });
  return app;
}

/** The table that the handlers of the tests write to. */
export const LEDGERS = {
  Postgres: `CREATE TABLE IF NOT EXISTS ledger (
    id serial PRIMARY KEY, payment text NOT NULL, amount text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp())`,
  MariaDB: `CREATE TABLE IF NOT EXISTS ledger (
    id integer PRIMARY KEY AUTO_INCREMENT, payment varchar(255) NOT NULL, amount varchar(50) NOT NULL,
    at datetime(3) NOT NULL DEFAULT current_timestamp(3))`,
} as const;
