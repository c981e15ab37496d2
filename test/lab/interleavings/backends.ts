// Where the receivers of a run remember events and keep letters: in memory, or by the real SQL of the package in SQLite.
import type { DeadLetterStore, IdempotencyStore } from 'payment-webhooks';
import { openSqlite } from '../../setup/open-sqlite.js';
import type { Loaded } from './load.js';

export type BackendName = 'memory' | 'sqlite';

export interface Backend {
  readonly store: IdempotencyStore<object>;
  readonly letters: DeadLetterStore;
  /** Writes one line about an event, inside `once` if that is called here; with memory the world keeps lines itself. */
  readonly ledger: Ledger | undefined;
}

export interface Ledger {
  write(id: string): void;
  /** How many lines the event has. */
  lines(id: string): number;
  close(): void;
}

/** Each time with nothing in it. */
export async function openBackend(name: BackendName, { door, clock }: Loaded): Promise<Backend> {
  const now = () => clock.now;
  if (name === 'memory')
    return { store: door.memoryStore({ now }), letters: door.memoryDeadLetters({ now }), ledger: undefined };
  const db = openSqlite();
  // SQLite asks the clock of the test: a function with one parameter goes before its own, which has any number.
  db.function('unixepoch', (_subsec) => clock.now / 1_000);
  db.exec('CREATE TABLE ledger (id TEXT NOT NULL)');
  const database = door.sqliteDatabase(db);
  const store = door.sqlStore(database);
  const letters = door.sqlDeadLetters(database);
  await store.migrate();
  await letters.migrate();
  return {
    store,
    letters,
    ledger: {
      write: (id) => void db.prepare('INSERT INTO ledger VALUES (?)').run(id),
      lines: (id) => db.prepare('SELECT id FROM ledger WHERE id = ?').all(id).length,
      close: () => void db.close(),
    },
  };
}
