// Reads the synchronous drivers of SQLite by their methods, and makes sure that what they commit survives a power failure.
import { ConfigurationError, StoreError } from '../../errors.js';
import { show } from '../../misuse.js';
import type { SqlValue } from './any-connections.js';
import { isBusy, saysInside } from './conflicts.js';

/** A synchronous driver of SQLite, as `sqlStore()` and `sqlDeadLetters()` take it. */
export interface SqliteDatabase<Db extends object> {
  readonly dialect: 'sqlite';
  readonly client: Db;
  query(client: Db, sql: string, values: SqlValue[]): unknown;
  transaction<Value>(work: (db: Db) => Value): Value;
  /** Whether a transaction is open on this connection. */
  inTransaction(db: Db): boolean;
}

/** What better-sqlite3, node:sqlite and bun:sqlite have in common. */
interface Driver {
  prepare(sql: string): DriverStatement;
  exec(sql: string): unknown;
  /** Of better-sqlite3 and bun:sqlite. */
  readonly inTransaction?: boolean;
  /** Of node:sqlite from 22.16 on. */
  readonly isTransaction?: boolean;
}

interface DriverStatement {
  all(...values: readonly unknown[]): unknown;
  run(...values: readonly unknown[]): unknown;
  /** Of better-sqlite3, which refuses `all()` for a statement without rows. */
  readonly reader?: boolean;
  /** Of node:sqlite, whose databases may return arrays. */
  setReturnArrays?(enabled: boolean): void;
}

/** For how long a statement of the store may block the event loop when another process writes. better-sqlite3 waits for 5 s. */
const LOCK_WAIT_MS = 100;
/** A handler cannot wait in another way, so it fails after this many waits. */
const MAX_BEGINS = 5;
/** For how long nobody waits again after that: a hundred handlers would block the event loop one after the other. */
const NO_WAIT_MS = 1_000;

/**
 * A database of better-sqlite3, node:sqlite or bun:sqlite, or a Drizzle database on one of them, for `sqlStore()` and
 * `sqlDeadLetters()`. It sets `journal_mode = WAL` and `synchronous = FULL` on the connection, which stays yours. Its own
 * statements wait 100 ms for a lock. For yours, the `busy_timeout` of the connection still counts.
 *
 * @throws {ConfigurationError} if it is not a synchronous driver
 * @example
 * const store = sqlStore(sqliteDatabase(new Database('shop.db')));
 */
export function sqliteDatabase<Db extends object>(db: Db): SqliteDatabase<Db> {
  driverOf(db);
  return {
    dialect: 'sqlite',
    client: db,
    query: (client, sql, values) => {
      const driver = driverOf(client, FOR_ONCE);
      return withShortWait(driver, () => {
        // Inside a transaction these settings cannot be changed. The completion that follows it is durable, and so is all before it.
        if (!durable.has(driver) && !isOpen(driver)) makeDurable(driver);
        return rowsOf(driver.prepare(sql), values);
      });
    },
    transaction: (work) => inTransaction(driverOf(db), () => work(db)),
    inTransaction: (client) => isOpen(driverOf(client)),
  };
}

function rowsOf(statement: DriverStatement, values: readonly SqlValue[]): unknown {
  statement.setReturnArrays?.(false);
  if (statement.reader !== false) return statement.all(...values);
  statement.run(...values);
  return [];
}

const drivers = new WeakSet<object>();

const FOR_STORE =
  'db is {db}, not a database of better-sqlite3, node:sqlite or bun:sqlite. Pass one of these, or a Drizzle database on one. For ' +
  "other clients use sqlStore({ dialect: 'sqlite', client, query, transaction }).";
const FOR_ONCE =
  'once() was given {db}. Pass the database itself, also inside a transaction that it has begun: once(db, work).';

/** @throws {ConfigurationError} unless it is one, or has one as `$client` like a Drizzle database */
function driverOf(db: unknown, refusal = FOR_STORE): Driver {
  const { prepare, $client } = (db ?? {}) as Partial<Driver> & { readonly $client?: unknown };
  const driver = (typeof prepare === 'function' ? db : $client) as Driver | undefined;
  if (driver && (drivers.has(driver) || answersAtOnce(driver))) {
    drivers.add(driver);
    return driver;
  }
  throw new ConfigurationError(refusal.replace('{db}', () => show(db)));
}

/** Drivers with callbacks or promises have methods of the same names. Reads no file. */
function answersAtOnce(driver: Driver): boolean {
  if (typeof driver.prepare !== 'function' || typeof driver.exec !== 'function') return false;
  try {
    const statement: Partial<DriverStatement> = driver.prepare('SELECT 1 AS one');
    return typeof statement.all === 'function' && Array.isArray(statement.all());
  } catch {
    // A damaged or closed file: the first claim says what is wrong with it.
    return true;
  }
}

function isOpen(driver: Driver): boolean {
  return driver.inTransaction ?? driver.isTransaction ?? refusesBegin(driver);
}

/** For node:sqlite before 22.16. A deferred BEGIN takes no lock. */
function refusesBegin(driver: Driver): boolean {
  try {
    driver.exec('BEGIN');
  } catch (error) {
    if (saysInside(error, 'within a transaction')) return true;
    throw error;
  }
  driver.exec('ROLLBACK');
  return false;
}

/** Kept, because preparing one takes longer than running it. */
const pragmas = new WeakMap<Driver, Map<string, DriverStatement>>();

/** Not by `exec()`, which better-sqlite3 refuses while the app iterates over rows. */
function pragma(driver: Driver, text: string): unknown {
  const kept = pragmas.get(driver) ?? new Map<string, DriverStatement>();
  pragmas.set(driver, kept);
  const statement = kept.get(text) ?? driver.prepare(`PRAGMA ${text}`);
  kept.set(text, statement);
  return Object.values((statement.all() as object[])[0] ?? {})[0];
}

/** The app has the same connection, so it gets its own wait for locks back. It may change it at any time. */
function withShortWait<Value>(driver: Driver, run: () => Value, waitMs = LOCK_WAIT_MS): Value {
  const ownMs = Number(pragma(driver, 'busy_timeout'));
  pragma(driver, `busy_timeout = ${waitMs}`);
  try {
    return run();
  } finally {
    pragma(driver, `busy_timeout = ${ownMs}`);
  }
}

const durable = new WeakSet<object>();

/** better-sqlite3 is built to run WAL with synchronous = NORMAL, where a power failure undoes what was committed. */
function makeDurable(driver: Driver): void {
  const mode = String(pragma(driver, 'journal_mode = WAL'));
  if (mode !== 'wal' && mode !== 'memory')
    throw new StoreError(
      `This SQLite keeps journal_mode ${mode} instead of WAL. Use a file on a local disk, and no other locking_mode.`,
    );
  // Set even where it is FULL already: of a new file that is the level before WAL, and its first transaction would lower it.
  driver.exec(`PRAGMA synchronous = ${Math.max(Number(pragma(driver, 'synchronous')), FULL)}`);
  if (!(Number(pragma(driver, 'synchronous')) >= FULL))
    throw new StoreError(
      'This SQLite does not accept synchronous = FULL, so a power failure would undo claims that were committed.',
    );
  durable.add(driver);
}

const FULL = 2;

function inTransaction<Value>(driver: Driver, work: () => Value): Value {
  begin(driver);
  try {
    const value = work();
    withShortWait(driver, () => driver.exec('COMMIT'));
    return value;
  } catch (error) {
    // Some errors have rolled it back already, such as a full disk.
    if (isOpen(driver)) driver.exec('ROLLBACK');
    throw error;
  }
}

/** Until when nobody waits for the lock, as of `performance.now()`. */
const locked = new WeakMap<Driver, number>();

function begin(driver: Driver): void {
  const waits = performance.now() > (locked.get(driver) ?? 0);
  const tryOnce = () => driver.exec('BEGIN IMMEDIATE');
  for (let attempt = 1; ; attempt += 1) {
    try {
      withShortWait(driver, tryOnce, waits ? LOCK_WAIT_MS : 0);
      return;
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (waits && attempt < MAX_BEGINS) continue;
      if (waits) locked.set(driver, performance.now() + NO_WAIT_MS);
      throw error;
    }
  }
}
