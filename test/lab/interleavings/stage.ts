// One event, two receivers and a redrive, each with a clock of its own, on which a trail is played.
import type { DeadLetterStore, IdempotencyStore } from 'payment-webhooks';
import { fixtures } from '../../../src/fixtures/fixture.js';
import { delivery } from '../../setup/delivery.js';
import { openSqlite, type Sqlite, sqliteFile } from '../../setup/open-sqlite.js';
import { Actor, settle } from './actor.js';
import type { BackendName } from './backends.js';
import type { Loaded } from './load.js';
import { Properties } from './properties.js';
import { hasLetter } from './watched-stores.js';

const EVENT = fixtures.transactionPaid({ id: 'event' });
const { id: ID } = EVENT;
const HOUR_MS = 3_600_000;

export class Stage {
  /** Of the stores. */
  readonly #clock = { now: 1_000 };
  readonly properties = new Properties(this.#clock, () => {});
  readonly shared: Loaded;
  refusesBegin = false;
  readonly #load: () => Loaded;
  readonly #defines: ReadonlySet<string>;
  readonly #actors = new Map<string, Actor>();
  readonly #store: IdempotencyStore | undefined;
  readonly #letters: DeadLetterStore | undefined;
  /** A file, because a transaction has a connection of its own. Undefined: all is in memory. */
  readonly #file = sqliteFile();
  readonly #connections: Sqlite[] = [];
  readonly #observer: Sqlite;
  /** Transactions whose handlers do not wait for their end. */
  readonly #abandoned: Sqlite[] = [];

  private constructor(load: () => Loaded, backend: BackendName, defines: ReadonlySet<string>) {
    this.#load = load;
    this.#defines = defines;
    this.shared = load();
    const { door } = this.shared;
    const now = () => this.#clock.now;
    this.#observer = this.#connect();
    const inMemory = backend === 'memory';
    this.#store = inMemory ? door.memoryStore({ now }) : undefined;
    if (defines.has('LETTERS'))
      this.#letters = inMemory
        ? door.memoryDeadLetters({ now })
        : door.sqlDeadLetters(door.sqliteDatabase(this.#observer));
  }

  static async open(load: () => Loaded, backend: BackendName, defines: readonly string[]): Promise<Stage> {
    const stage = new Stage(load, backend, new Set(defines));
    const { door } = stage.shared;
    await door.sqlStore(door.sqliteDatabase(stage.#observer)).migrate();
    await door.sqlDeadLetters(door.sqliteDatabase(stage.#observer)).migrate();
    stage.#observer.exec('CREATE TABLE ledger (id TEXT NOT NULL)');
    return stage;
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
    this.#file.remove();
  }

  /** A process, which starts when it is first asked for. */
  actor(name: string): Actor {
    const known = this.#actors.get(name);
    if (known) return known;
    const actor = new Actor({
      ...{ loaded: this.#load(), properties: this.properties, letters: this.#letters },
      openStore: (asking) => this.#store ?? this.#openStore(asking),
      journal: this.#defines.has('JOURNAL'),
      handlers: this.#defines.has('TWO_HANDLERS') ? ['writes', 'other'] : ['writes'],
    });
    this.#actors.set(name, actor);
    return actor;
  }

  async deliver(actor: Actor): Promise<void> {
    const { body, headers } = delivery(EVENT);
    const { status, body: text } = await actor.hooks.receive({ rawBody: body, headers });
    if (!actor.alive) return;
    actor.answers.push(status);
    const { outcome, code } = JSON.parse(text);
    const letter = this.#letters && (await hasLetter(this.#letters, ID));
    this.properties.answer(ID, { status, outcome, code }, letter);
  }

  crash(name: string): void {
    const actor = this.actor(name);
    actor.alive = false;
    if (actor.open) this.#abandoned.push(actor.open.db);
    this.#actors.delete(name);
  }

  /** Time that all sleep through: no timer goes off. */
  pass(ms: number): void {
    this.#clock.now += ms;
    for (const { clock } of this.#actors.values()) clock.now += ms;
  }

  /** Whether the event has a row of `once` that is committed. */
  get hasRow(): boolean {
    return this.#observer.prepare("SELECT key FROM webhook_event WHERE key LIKE '% writes'").all().length > 0;
  }

  /** The handler calls `once`. @returns whether its work has run */
  async write(actor: Actor): Promise<boolean> {
    const handler = actor.handlers.find(({ name }) => name === 'writes');
    if (!handler?.context.once) return false;
    handler.called = true;
    let ran = false;
    const work = (db: Sqlite) => {
      ran = true;
      db.prepare('INSERT INTO ledger VALUES (?)').run(ID);
    };
    Promise.resolve(handler.context.once(work)).catch(() => {});
    await settle();
    return ran;
  }

  /** @param how the database ends it; undefined: later. @returns whether the actor has a transaction */
  end(actor: Actor, how: 'COMMIT' | 'ROLLBACK' | undefined, error?: Error): boolean {
    const { open } = actor;
    if (!open) return false;
    actor.open = undefined;
    if (how) this.#end(open.db, how);
    else this.#abandoned.push(open.db);
    open.answer(error);
    return true;
  }

  endAbandoned(how: 'COMMIT' | 'ROLLBACK'): boolean {
    const db = this.#abandoned.shift();
    if (db) this.#end(db, how);
    return db !== undefined;
  }

  /** Each handler does what is left of its work. @returns whether one runs */
  async succeed(actor: Actor): Promise<boolean> {
    const handlers = [...actor.handlers];
    for (const handler of handlers) {
      if (!this.#usesOnce) this.properties.handled.add(ID);
      else if (handler.name === 'writes' && !handler.called) await this.write(actor);
      if (this.end(actor, 'COMMIT')) await settle();
      handler.settle();
    }
    return handlers.length > 0;
  }

  /** The cause of all failures is fixed, and what is left is replayed. */
  async finish(): Promise<void> {
    while (this.endAbandoned('ROLLBACK'));
    await this.#calmDown();
    this.pass(HOUR_MS);
    const { hooks } = this.actor('the last redrive');
    void hooks.deadLetters
      ?.replay()
      .catch((error) => this.properties.violated(`the last replay failed: ${error}`));
    await settle();
    await this.#calmDown();
    const letter = this.#letters !== undefined && (await hasLetter(this.#letters, ID));
    this.properties.atEnd(ID, { letter, lines: this.#usesOnce ? this.#lines : 0 });
  }

  async #calmDown(): Promise<void> {
    for (let moved = true; moved; ) {
      moved = false;
      for (const actor of this.#actors.values()) {
        if (actor.isIdle) continue;
        moved = true;
        await actor.goOn();
        const [ask] = actor.asks;
        if (ask) await actor.obey(ask.call);
        else if (!(await this.succeed(actor))) actor.clock.advance();
        await settle();
      }
    }
  }

  get #usesOnce(): boolean {
    return this.#defines.has('USES_ONCE');
  }

  get #lines(): number {
    return this.#observer.prepare('SELECT id FROM ledger').all().length;
  }

  #end(db: Sqlite, how: 'COMMIT' | 'ROLLBACK'): void {
    db.exec(how);
    if (this.#lines > 0) this.properties.handled.add(ID);
  }

  #connect(): Sqlite {
    const db = openSqlite(this.#file.file);
    this.#connections.push(db);
    // The clock of the stores: a function with one parameter goes before its own, which has any number.
    db.function('unixepoch', (_subsec) => this.#clock.now / 1_000);
    return db;
  }

  /** As of libSQL, whose transactions have connections of their own. */
  #openStore(actor: Actor): IdempotencyStore<object> {
    const { door } = this.shared;
    const client = this.#connect();
    return door.sqlStore({
      ...{ dialect: 'sqlite', client },
      query: async (db: Sqlite, sql, values) => door.sqliteDatabase(db).query(db, sql, values),
      transaction: async (work: (db: Sqlite) => Promise<void>) => {
        if (this.refusesBegin) throw new Error('no connection');
        const db = this.#connect();
        db.exec('BEGIN IMMEDIATE');
        try {
          await work(db);
        } catch (error) {
          db.exec('ROLLBACK');
          throw error;
        }
        await actor.holds(db);
      },
    });
  }
}
