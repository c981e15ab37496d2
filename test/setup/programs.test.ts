// What a run says of tests that it skipped, and that no test dials the server that happens to run on this machine.
import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { explainSkipped, needs } from './programs.js';

test('the closing line counts skipped tests by the program they need, and says how to install it', () => {
  const named = (program: string, count: number) => Array(count).fill(`a test${needs([program])} of a group`);
  expect(
    explainSkipped([
      ...named('mariadbd', 2),
      ...named('redis-server', 3),
      ...named('postgres', 1),
      ...named('SQLite', 1),
      'a test that is named by nothing',
    ]),
  ).toBe(
    '8 skipped: redis-server (3), mariadbd (2), postgres (1), SQLite (1), not for this machine (1). ' +
      'To run them: apt-get install redis-server mariadb-server && npm install --include=optional',
  );
});

test.each([
  ['net.connect()', async () => connect(6379, '127.0.0.1')],
  ['net.connect() with options', async () => connect({ port: 3306, host: '127.0.0.1' })],
  ['pg without a connection string', async () => new Pool({ connectionString: '' }).query('SELECT 1')],
  [
    'ioredis without a URL',
    () => new Redis('', { lazyConnect: true, retryStrategy: () => null }).on('error', () => {}).connect(),
  ],
])('%s does not reach the default port of a server', async (_, dial) => {
  await expect(dial()).rejects.toThrow(/A test dials the default port of (Redis|MariaDB|Postgres)/);
});
