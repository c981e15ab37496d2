// What the store needs of a `pg` pool, so that neither types nor code of a driver are loaded.

export interface PostgresReply {
  readonly command: string;
  readonly rowCount: number | null;
  readonly rows: readonly unknown[];
}

export interface PostgresQuery {
  readonly name?: string;
  readonly text: string;
  values?: unknown[];
}

export interface Queryable {
  query(query: PostgresQuery): Promise<PostgresReply>;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** A client that the pool has lent. */
export interface PostgresClient extends Queryable {
  removeListener(event: 'error', listener: (error: Error) => void): unknown;
  release(error?: Error | boolean): void;
  /** False while a query is under way. */
  readonly readyForQuery?: boolean;
}

/** A pool of `pg`, or one that behaves like it. */
export interface PostgresPool extends Queryable {
  connect(): Promise<PostgresClient>;
}

/** What `connect()` of this pool resolves with; that of `pg` also has a form with a callback. */
export type ClientOf<Pool extends PostgresPool> = Pool['connect'] extends {
  (): Promise<infer Client extends PostgresClient>;
  (callback: never): void;
}
  ? Client
  : Awaited<ReturnType<Pool['connect']>>;

const survivors = new WeakSet<PostgresPool>();

/** A client that breaks while idle makes its pool emit `error`, which ends the process if nobody listens. */
export function survive(pool: PostgresPool): void {
  if (survivors.has(pool)) return;
  survivors.add(pool);
  // The pool has dropped the client already; whoever asks next hears of it if the server is still away.
  pool.on('error', () => {});
}
