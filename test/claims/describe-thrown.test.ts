import { expect, test } from '@jest/globals';
import { StoreError } from 'payment-webhooks';
import { describeThrown } from '../../src/claims/describe-thrown.js';

const coded = (code: string, more?: object) => Object.assign(new Error('secret'), { code, ...more });
const wrapped = (depth: number): unknown =>
  depth === 0 ? coded('42P01') : new Error('secret', { cause: wrapped(depth - 1) });

const cyclic = coded('42P01');
Object.assign(cyclic, { meta: cyclic, cause: cyclic });

const NO_TABLE = 'The table does not exist: call store.migrate().';
const NO_DATABASE = 'The database does not exist: create it, or correct its name.';
const NO_ROLE =
  'The role does not exist, or its password is wrong: correct the user and password of the connection.';
const UNRESOLVED = 'Its host name does not resolve: correct it, or wait for the DNS server.';
const NOT_GRANTED = 'The role may not use the table: grant it SELECT, INSERT, UPDATE and DELETE.';
const FULL = 'The server has no connection left: use smaller pools, or raise its limit.';
const REFUSED = 'Redis refuses the user or password: correct those of the client.';

const NOT_TRUSTED =
  'The certificate of the server is not trusted: pass its CA to the client, or set NODE_EXTRA_CA_CERTS.';
const EXPIRED =
  'The certificate of the server has expired or is not valid yet: renew it, or correct the clock of this host.';
const NOT_IN_TLS = 'The server does not answer in TLS: correct the port, or connect without TLS.';
const NO_TLS = 'The server does not support TLS: turn it on there, or connect without it.';

test.each<[string, string]>([
  ['42P01', NO_TABLE],
  ['ER_NO_SUCH_TABLE', NO_TABLE],
  ['3D000', NO_DATABASE],
  ['ER_BAD_DB_ERROR', NO_DATABASE],
  ['28000', NO_ROLE],
  ['28P01', NO_ROLE],
  ['ER_ACCESS_DENIED_ERROR', NO_ROLE],
  ['42501', NOT_GRANTED],
  ['ER_TABLEACCESS_DENIED_ERROR', NOT_GRANTED],
  ['ER_DBACCESS_DENIED_ERROR', NOT_GRANTED],
  ['53300', FULL],
  ['ER_CON_COUNT_ERROR', FULL],
  ['ECONNREFUSED', 'Nothing listens there: start the server, or correct host and port.'],
  ['ENOTFOUND', UNRESOLVED],
  ['EAI_AGAIN', UNRESOLVED],
  // As redis, ioredis and pg pass them on; seen with a Redis whose certificate was made for another host.
  ...[
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  ].map((code): [string, string] => [code, NOT_TRUSTED]),
  ['CERT_HAS_EXPIRED', EXPIRED],
  ['CERT_NOT_YET_VALID', EXPIRED],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'The certificate of the server is for another host name: connect by a name that is in it.',
  ],
  ['ERR_SSL_WRONG_VERSION_NUMBER', NOT_IN_TLS],
  ['ERR_SSL_PACKET_LENGTH_TOO_LONG', NOT_IN_TLS],
  ['EPROTO', NOT_IN_TLS],
  ['HANDSHAKE_SSL_ERROR', 'The TLS handshake failed: pass the CA of the server, and check its certificate.'],
  ['HANDSHAKE_NO_SSL_SUPPORT', NO_TLS],
  ['ER_SECURE_TRANSPORT_REQUIRED', 'The server accepts TLS alone: set ssl on the connection.'],
  ['ECONNRESET', 'The server closed the connection. If it always does, check whether it expects TLS.'],
  [
    '08P01',
    'A server or a proxy such as PgBouncer refuses the connection: its log says whether it expects TLS, or another user.',
  ],
])('a store that threw %s is described with what to do', (code, cure) => {
  expect(describeThrown(coded(code), 'store')).toEqual({ code, message: `It threw ${code}. ${cure}` });
});

test.each<[string, Error, string | undefined, string]>([
  [
    'no entry in pg_hba.conf',
    Object.assign(new Error('no pg_hba.conf entry for host "127.0.0.1", user "jane", no encryption'), {
      code: '28000',
    }),
    '28000',
    'It threw 28000. pg_hba.conf has no entry for this user, database and address, or only one with TLS: set ssl on the connection, or add an entry.',
  ],
  [
    'a Postgres without TLS',
    new Error('The server does not support SSL connections'),
    undefined,
    `It threw. ${NO_TLS}`,
  ],
  [
    'ioredis without a connection',
    Object.assign(new Error('Reached the max retries per request limit'), {
      name: 'MaxRetriesPerRequestError',
    }),
    'MaxRetriesPerRequestError',
    'It threw MaxRetriesPerRequestError. ioredis cannot connect: log its error event, which says why, e.g. TLS or a wrong port.',
  ],
])('%s is known by more than its code', (_what, cause, code, message) => {
  expect(describeThrown(cause, 'store')).toEqual({ code, message });
});

const CLOSED =
  'Its client is closed, or not connected yet: connect before the first delivery, and close it after hooks.close().';
const NONE_FREE =
  'No connection became free in time: use a larger pool, end long transactions, and check that the server is reached.';
const TOO_SLOW =
  'The server did not answer within a time limit of its client: look for locks, long statements and a lost network.';

// Each as its client has thrown it: none of them has a code that says what to do.
test.each<[string, string, string]>([
  ['pg after end()', 'Cannot use a pool after calling end on the pool', CLOSED],
  ['a client of pg after end()', 'Client was closed and is not queryable', CLOSED],
  ['mysql2 after end()', 'Pool is closed.', CLOSED],
  ['ioredis after quit()', 'Connection is closed.', CLOSED],
  [
    'ioredis before it is connected',
    "Stream isn't writeable and enableOfflineQueue options is false",
    CLOSED,
  ],
  ['redis after close(), or before connect()', 'The client is closed', CLOSED],
  ['better-sqlite3 after close()', 'The database connection is not open', CLOSED],
  ['node:sqlite after close()', 'database is not open', CLOSED],
  ['bun:sqlite after close()', 'Cannot use a closed database', CLOSED],
  ['libSQL after close()', 'CLIENT_CLOSED: The client is closed', CLOSED],
  ['postgres.js after end()', 'write CONNECTION_ENDED 127.0.0.1:1', CLOSED],
  ['TypeORM before initialize()', 'Driver not Connected', CLOSED],
  ['Knex after destroy()', 'Unable to acquire a connection', CLOSED],
  ['a pool of pg in use', 'timeout exceeded when trying to connect', NONE_FREE],
  [
    'a pool of Knex in use',
    'Knex: Timeout acquiring a connection. The pool is probably full. Are you missing a .transacting(trx) call?',
    NONE_FREE,
  ],
  ['a pool of mysql2 in use', 'Queue limit reached.', NONE_FREE],
  ['a pool of mysql2 that does not wait', 'No connections available.', NONE_FREE],
  ['query_timeout of pg', 'Query read timeout', TOO_SLOW],
  ['commandTimeout of ioredis', 'Command timed out', TOO_SLOW],
  [
    'ioredis 5.10 on a cluster',
    'All keys in the pipeline should belong to the same slots allocation group',
    "ioredis before 5.11 pipelines these keys to a wrong node: update it, or set autoPipeliningIgnoredCommands: ['EVALSHA', 'EVAL'].",
  ],
  [
    'libSQL in memory, in a transaction',
    'TRANSACTION_ACTIVE: This client has a single connection, which an open transaction is holding.',
    'A transaction holds the only connection of this libSQL client: use a file: URL.',
  ],
])('%s is known by its message, also inside the error of an ORM', (_what, message, cure) => {
  for (const thrown of [new Error(message), new Error('secret', { cause: new Error(message) })])
    expect(describeThrown(thrown, 'store')).toEqual({ code: undefined, message: `It threw. ${cure}` });
  expect(describeThrown(new Error(`secret ${message}`), 'store').message).toBe('It threw.');
});

test('the table of dead letters has its own migrate()', () => {
  const { message } = describeThrown(coded('42P01'), 'deadLetters');
  expect(message).toBe('It threw 42P01. The table does not exist: call deadLetters.migrate().');
});

test.each([
  ['WRONGTYPE', 'Something else uses its keys: give redisStore() another prefix.'],
  ['NOAUTH', REFUSED],
  ['WRONGPASS', REFUSED],
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
  ['MOVED', 'This Redis is a node of a cluster: use the cluster client of your library.'],
  ['ASK', 'This Redis is a node of a cluster: use the cluster client of your library.'],
  ['TRYAGAIN', 'The cluster is moving this slot: wait until it has.'],
  ['CROSSSLOT', 'These keys are in different slots of the cluster: give the store a prefix without braces.'],
  ['DENIED', 'Redis is in protected mode: set a password, and give it to the client.'],
])('a Redis that replied %s is described with what to do', (code, cure) => {
  const described = { code, message: `It threw ${code}. ${cure}` };
  for (const reply of [
    `${code} secret`,
    `-${code} secret`,
    `ERR Error running script (call to f_0): @user_script:1: ${code} secret`,
    `ERR Error running script (call to f_0): @user_script: 12: -${code} secret`,
  ])
    expect(describeThrown(new Error(reply), 'store')).toEqual(described);
});

/** As redis and ioredis name them. */
class SimpleError extends Error {}
const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });

test.each<[string, unknown, string]>([
  ['a code without a cure', coded('23514'), '23514'],
  ['a code of Redis without a cure', new Error('UNKILLABLE secret'), 'UNKILLABLE'],
  ['the first word of any reply of ioredis', reply('NEWCODE secret'), 'NEWCODE'],
  ['the first word of any reply of redis', new SimpleError('ERR secret'), 'ERR'],
  ['the code of Prisma where its meta has none', coded('P2024', { meta: { code: 7 } }), 'P2024'],
  ['the code of an error whose meta has only text', coded('P2024', { meta: { message: 'secret' } }), 'P2024'],
  ['a short code of the system', coded('EIO'), 'EIO'],
  ['a code of mysql2', coded('PROTOCOL_CONNECTION_LOST'), 'PROTOCOL_CONNECTION_LOST'],
  [
    'the code in a Redis reply, if `code` is not valid',
    coded('secret', { message: 'UNKILLABLE secret' }),
    'UNKILLABLE',
  ],
])('%s is named', (_what, cause, code) => {
  expect(describeThrown(cause, 'store')).toEqual({ code, message: `It threw ${code}.` });
});

test.each<[string, unknown]>([
  ['the cause of an error', wrapped(1)],
  ['the third cause', wrapped(3)],
  ['an error that is its own cause', cyclic],
  ['the meta of Prisma', coded('P2010', { meta: { code: '42P01' } })],
  ['the cause of an error of Prisma', coded('P2010', { cause: coded('42P01') })],
  ...['driverError', 'original', 'parent'].map((name): [string, unknown] => [
    `the ${name} of an ORM`,
    Object.assign(new Error(), { [name]: coded('42P01') }),
  ]),
])('the innermost code counts: in %s', (_what, cause) => {
  expect(describeThrown(cause, 'store')).toEqual({ code: '42P01', message: `It threw 42P01. ${NO_TABLE}` });
});

test.each<[string, unknown]>([
  ['an error without a code', new Error('secret')],
  ['nothing', undefined],
  ['null', null],
  ['text', '42P01'],
  ['text in place of a code', coded('jane@example.com')],
  ['text that contains a code', coded('secret 42P01')],
  ['text that begins with a code', coded('42P01 secret')],
  ['a number in place of a code', Object.assign(new Error(), { code: 42501 })],
  ['a word that is not a code', new Error('SECRET is out')],
  ['a word that begins like a code', new Error('OOMPH')],
  ['a reply that is quoted later', new Error('secret WRONGTYPE')],
  ['a reply that begins with a name', reply('Jane secret')],
  ['a code too deep inside', wrapped(4)],
  ['a message that is no text', Object.assign(new Error(), { message: 7 })],
  [
    'a getter that throws',
    Object.defineProperty(new Error(), 'code', {
      get: () => {
        throw new Error('secret');
      },
    }),
  ],
])('does not describe %s', (_what, cause) => {
  expect(describeThrown(cause, 'store')).toEqual({ code: undefined, message: 'It threw.' });
});

test('an error of this package is quoted', () => {
  const { code, message } = describeThrown(new StoreError('The store is full.'), 'store');
  expect([code, message]).toEqual([undefined, 'The store is full.']);
});
