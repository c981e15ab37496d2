// Where the receivers of a run remember events and keep letters: in memory, or by the real SQL of the package in SQLite.
import type { DeadLetterStore, IdempotencyStore } from 'payment-webhooks';
import { openSqlite } from '../../setup/open-sqlite.js';
import type { Loaded } from './load.js';

export type BackendName = 'memory' | 'sqlite';

export interface Backend {
  /** That of another process, which shares what it remembers with all others. */
  openStore(): IdempotencyStore<object>;
  /** Decides what becomes of a statement of several calls. */
  onBatch: (send: () => unknown) => unknown;
  /** Whether the table has the event as completed. Undefined in memory. */
  readonly isCompleted: ((id: string) => boolean) | undefined;
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
  const onBatch = (send: () => unknown) => send();
  if (name === 'memory') {
    const [store, letters] = [door.memoryStore({ now }), door.memoryDeadLetters({ now })];
    return { openStore: () => store, onBatch, isCompleted: undefined, letters, ledger: undefined };
  }
  const db = openSqlite();
  // SQLite asks the clock of the test: a function with one parameter goes before its own, which has any number.
  db.function('unixepoch', (_subsec) => clock.now / 1_000);
  db.exec('CREATE TABLE ledger (id TEXT NOT NULL)');
  const database = door.sqliteDatabase(db);
  const query: typeof database.query = (...sent) => {
    const send = () => database.query(...sent);
    return /\bc\.value\b/.test(sent[1]) ? backend.onBatch(send) : send();
  };
  const openStore = () => door.sqlStore({ ...database, query });
  const letters = door.sqlDeadLetters(database);
  await openStore().migrate();
  await letters.migrate();
  const backend: Backend = {
    ...{ openStore, onBatch, letters },
    isCompleted: (id) =>
      db.prepare(`SELECT key FROM webhook_event WHERE key LIKE ? AND lease_ends > 8e15`).all(`%:${id}`)
        .length === 1,
    ledger: {
      write: (id) => void db.prepare('INSERT INTO ledger VALUES (?)').run(id),
      lines: (id) => db.prepare('SELECT id FROM ledger WHERE id = ?').all(id).length,
      close: () => void db.close(),
    },
  };
  return backend;
}
