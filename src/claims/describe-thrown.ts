// Describes what a store threw: its code and how to fix it, never its message.
import { StoreError } from '../errors.js';
import { redisCodeOf } from '../logger.js';

/** The codes of Postgres, Prisma, MySQL and MariaDB, SQLite, the system, Node and OpenSSL. */
const CODE =
  /^(?:[0-9][0-9A-Z]{4}|P[0-9]{4}|(?:ER|PROTOCOL|HANDSHAKE|SQLITE)_[A-Z_]{3,50}|E[A-Z]{2,14}|EAI_AGAIN|(?:ERR|CERT|DEPTH|SELF|UNABLE)_[A-Z0-9_]{3,60})$/;
/** The numbers of SQLite, in the lowest byte of `errcode` of node:sqlite. */
const SQLITE_CODES: Readonly<Record<number, string>> = {
  1: 'SQLITE_ERROR',
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  26: 'SQLITE_NOTADB',
};
/** A reply of Redis, in redis, ioredis and Upstash. A bundler may rename these classes. */
const REPLY_CLASS = /^(?:ReplyError|ErrorReply|SimpleError|BlobError|UpstashError)$/;
/** Where clients and ORMs put the error of the driver. */
const INSIDE = ['meta', 'cause', 'driverError', 'original', 'parent', 'driverAdapterError'] as const;
const MAX_DEPTH = 4;

const NO_TLS = 'The server does not support TLS: turn it on there, or connect without it.';

const CURES: readonly (readonly [codes: string, cure: string])[] = [
  ['42P01 ER_NO_SUCH_TABLE', 'The table does not exist: call {store}.migrate().'],
  ['3D000 ER_BAD_DB_ERROR', 'The database does not exist: create it, or correct its name.'],
  [
    '28000 28P01 ER_ACCESS_DENIED_ERROR',
    'The role does not exist, or its password is wrong: correct the user and password of the connection.',
  ],
  [
    '42501 ER_TABLEACCESS_DENIED_ERROR ER_DBACCESS_DENIED_ERROR',
    'The role may not use the table: grant it SELECT, INSERT, UPDATE and DELETE.',
  ],
  [
    '25006 ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION ER_OPTION_PREVENTS_STATEMENT ER_READ_ONLY_MODE',
    'The server or the session is read-only: connect to the primary, and do not make sessions read-only.',
  ],
  [
    'ER_BINLOG_STMT_MODE_AND_ROW_ENGINE',
    'A binary log of statements does not work with READ COMMITTED: set binlog_format to MIXED or ROW.',
  ],
  ['53300 ER_CON_COUNT_ERROR', 'The server has no connection left: use smaller pools, or raise its limit.'],
  [
    'SQLITE_BUSY SQLITE_LOCKED',
    'Another connection keeps the lock of the file: end long transactions, and do not await between BEGIN and COMMIT.',
  ],
  ['SQLITE_FULL', 'The disk is full: free space. The next claim then succeeds.'],
  [
    'SQLITE_READONLY',
    'The file of SQLite, its folder or its connection is read-only: let the user of the process write to both.',
  ],
  ['SQLITE_IOERR', 'The disk failed to read or write: check it, and that the file is on a local disk.'],
  [
    'SQLITE_CORRUPT SQLITE_NOTADB',
    'The file of SQLite is damaged: stop the app, and restore a backup or run ".recover" of sqlite3.',
  ],
  [
    'SQLITE_CANTOPEN',
    'The file of SQLite cannot be opened: create its folder, or correct its path and rights.',
  ],
  [
    'DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_VERIFY_LEAF_SIGNATURE UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'The certificate of the server is not trusted: pass its CA to the client, or set NODE_EXTRA_CA_CERTS.',
  ],
  [
    'CERT_HAS_EXPIRED CERT_NOT_YET_VALID',
    'The certificate of the server has expired or is not valid yet: renew it, or correct the clock of this host.',
  ],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'The certificate of the server is for another host name: connect by a name that is in it.',
  ],
  ['HANDSHAKE_SSL_ERROR', 'The TLS handshake failed: pass the CA of the server, and check its certificate.'],
  ['HANDSHAKE_NO_SSL_SUPPORT', NO_TLS],
  [
    'ERR_SSL_WRONG_VERSION_NUMBER ERR_SSL_PACKET_LENGTH_TOO_LONG EPROTO',
    'The server does not answer in TLS: correct the port, or connect without TLS.',
  ],
  ['ER_SECURE_TRANSPORT_REQUIRED', 'The server accepts TLS alone: set ssl on the connection.'],
  ['ECONNRESET', 'The server closed the connection. If it always does, check whether it expects TLS.'],
  [
    '08P01',
    'A server or a proxy such as PgBouncer refuses the connection: its log says whether it expects TLS, or another user.',
  ],
  [
    'MaxRetriesPerRequestError',
    'ioredis cannot connect: log its error event, which says why, e.g. TLS or a wrong port.',
  ],
  ['ECONNREFUSED', 'Nothing listens there: start the server, or correct host and port.'],
  ['ENOTFOUND EAI_AGAIN', 'Its host name does not resolve: correct it, or wait for the DNS server.'],
  ['WRONGTYPE', 'Something else uses its keys: give redisStore() another prefix.'],
  ['NOAUTH WRONGPASS', 'Redis refuses the user or password: correct those of the client.'],
  [
    'NOPERM',
    'The Redis user may not use these keys: add the prefix of the store to its ACL, e.g. ~webhook:*.',
  ],
  ['READONLY', 'This Redis is a replica: connect to the primary.'],
  ['MASTERDOWN', 'This replica has lost its primary: connect to the primary.'],
  ['OOM', 'Redis has no memory left: raise maxmemory.'],
  ['NOREPLICAS', 'Too few replicas are connected: start them, or lower min-replicas-to-write.'],
  ['MISCONF', 'Redis cannot write to its disk: free space, or fix the error that its log names.'],
  ['LOADING', 'Redis is still loading its data: wait until it has.'],
  ['BUSY', 'Another script occupies Redis: end it with SCRIPT KILL.'],
  ['CLUSTERDOWN', 'The cluster does not serve every slot: check its nodes with CLUSTER INFO.'],
  ['MOVED ASK', 'This Redis is a node of a cluster: use the cluster client of your library.'],
  ['TRYAGAIN', 'The cluster is moving this slot: wait until it has.'],
  ['CROSSSLOT', 'These keys are in different slots of the cluster: give the store a prefix without braces.'],
  ['DENIED', 'Redis is in protected mode: set a password, and give it to the client.'],
];

const CLOSED =
  'Its client is closed, or not connected yet: connect before the first delivery, and close it after hooks.close().';
const NONE_FREE =
  'No connection became free in time: use a larger pool, end long transactions, and check that the server is reached.';
const TOO_SLOW =
  'The server did not answer within a time limit of its client: look for locks, long statements and a lost network.';

/** How the messages of clients begin that give no code. */
const MESSAGES: readonly (readonly [beginning: RegExp, cure: string])[] = [
  [/^(?:Cannot use a pool after calling end|Client was closed|Pool is closed|Connection is closed)/, CLOSED],
  [/^(?:The client is closed|CLIENT_CLOSED|write CONNECTION_ENDED|Stream isn.t writeable and)/, CLOSED],
  [/^(?:The database connection is not open|database is not open|Cannot use a closed database)/, CLOSED],
  [/^(?:Driver not Connected|Unable to acquire a connection)/, CLOSED],
  [/^(?:timeout exceeded when trying to connect|Knex: Timeout acquiring a connection)/, NONE_FREE],
  [/^(?:Queue limit reached|No connections available)\./, NONE_FREE],
  [/^(?:Query read timeout|Command timed out)$/, TOO_SLOW],
  [
    /^All keys in the pipeline should belong to the same slots/,
    "ioredis before 5.11 pipelines these keys to a wrong node: update it, or set autoPipeliningIgnoredCommands: ['EVALSHA', 'EVAL'].",
  ],
  [/^TRANSACTION_ACTIVE:/, 'A transaction holds the only connection of this libSQL client: use a file: URL.'],
];

/**
 * Nothing else is quoted, because a message may contain anything.
 *
 * @param store what its variable is called in the docs
 */
export function describeThrown(
  cause: unknown,
  store: 'store' | 'deadLetters',
): { code: string | undefined; message: string } {
  try {
    if (StoreError.is(cause)) return { code: undefined, message: cause.message };
    const [code, error] = codeOf(cause, MAX_DEPTH) ?? [];
    // SQLite refines a code by a suffix, and has none for a missing table.
    const known = code?.startsWith('SQLITE_') ? /^SQLITE_[A-Z]+/.exec(code)?.[0] : code;
    const name = known === 'SQLITE_ERROR' && hasNoTable(error) ? 'ER_NO_SUCH_TABLE' : known;
    const cure =
      (error ? cureOfMessage(error) : cureInside(cause, MAX_DEPTH)) ??
      CURES.find(([codes]) => name !== undefined && codes.split(' ').includes(name))?.[1];
    const thrown = code === undefined ? 'It threw.' : `It threw ${code}.`;
    return { code, message: cure ? `${thrown} ${cure.replace('{store}', store)}` : thrown };
  } catch {
    // A getter of the error threw.
    return { code: undefined, message: 'It threw.' };
  }
}

const ROW_SECURITY =
  'Row-level security refuses the row: create a policy that gives this role every row, or use a role with BYPASSRLS.';

const NOT_ADMITTED =
  'pg_hba.conf has no entry for this user, database and address, or only one with TLS: set ssl on the connection, or add an entry.';

/** Postgres has one code for a missing grant and for a policy, and one for an unknown role and for pg_hba.conf. */
function cureOfMessage(error: unknown): string | undefined {
  const { message, routine } = (error ?? {}) as Record<string, unknown>;
  const text = String(message);
  if (routine === 'ExecWithCheckOptions' || / row-level security /.test(text)) return ROW_SECURITY;
  if (/^(?:no pg_hba\.conf entry|pg_hba\.conf rejects connection) /.test(text)) return NOT_ADMITTED;
  if (text === 'The server does not support SSL connections') return NO_TLS;
  return MESSAGES.find(([beginning]) => beginning.test(text))?.[1];
}

/** The innermost message that is known. */
function cureInside(error: unknown, depth: number): string | undefined {
  if (typeof error !== 'object' || error === null || depth === 0) return undefined;
  for (const wrapped of INSIDE) {
    const cure = cureInside((error as Readonly<Record<string, unknown>>)[wrapped], depth - 1);
    if (cure !== undefined) return cure;
  }
  return cureOfMessage(error);
}

function hasNoTable(error: unknown): boolean {
  return /\bno such table\b/.test(String((error as { message?: unknown } | undefined)?.message));
}

/** node:sqlite has one code for every error, and D1 names it at the end of its message. */
function sqliteCodeOf({ code, errcode, message }: Readonly<Record<string, unknown>>): string | undefined {
  if (code === 'ERR_SQLITE_ERROR' && typeof errcode === 'number') return SQLITE_CODES[errcode & 0xff];
  return /^D1_[A-Z_]*ERROR\b.*\b(SQLITE_[A-Z_]{3,40})$/s.exec(String(message))?.[1];
}

/** The innermost code, and what has it: the outer ones come from the client, and say less. */
function codeOf(error: unknown, depth: number): readonly [code: string, error: object] | undefined {
  if (typeof error !== 'object' || error === null || depth === 0) return undefined;
  const fields = error as Readonly<Record<string, unknown>>;
  const { code, name } = fields;
  for (const wrapped of INSIDE) {
    const inner = codeOf(fields[wrapped], depth - 1);
    if (inner !== undefined) return inner;
  }
  const own = sqliteCodeOf(fields) ?? (typeof code === 'string' ? CODE.exec(code)?.[0] : undefined);
  if (own !== undefined) return [own, error];
  if (name === 'MaxRetriesPerRequestError') return [name, error];
  const isReply = [name, error.constructor?.name].some((type) => REPLY_CLASS.test(String(type)));
  const reply = redisCodeOf(error, isReply);
  return reply === undefined ? undefined : [reply, error];
}
