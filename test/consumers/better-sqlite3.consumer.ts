// The packed package with better-sqlite3 13, which npm installs on Node 22 and later: the tests of the repository have 12.
import { describe, expect, test } from '@jest/globals';
import { consumer } from './consumer.js';
import { installRuntime } from './install-runtime.js';

const PROGRAM = `
import Database from 'better-sqlite3';
import { receiver } from 'payment-webhooks';
import { sqliteDatabase, sqliteInbox, sqlDeadLetters, sqlStore } from 'payment-webhooks/stores/sql';
import { deadLetterContract, fixtures, signedDelivery, storeContract } from 'payment-webhooks/testing';

const database = sqliteDatabase(new Database('contracts.db'));
const table = 'contract_event';
await sqlStore({ ...database, table }).migrate();
let made = 0;
const cases = [
  ...storeContract({ create: ({ retention }) => sqlStore({ ...database, table, retention }) }),
  ...deadLetterContract({
    // A case may expect to find its own letters alone.
    create: async ({ retention }) => {
      made += 1;
      const letters = sqlDeadLetters({ ...database, table: 'letter_' + made, retention });
      await letters.migrate();
      return letters;
    },
  }),
];
const failures = [];
await Promise.all(cases.map(({ name, run }) => run().catch((error) => failures.push(name + ': ' + error))));

const db = new Database('shop.db');
db.exec('CREATE TABLE paid (id TEXT)');
const hooks = receiver({ inbox: sqliteInbox(db), privateKey: 'pri_of_the_shop', logger: false });
let runs = 0;
hooks.on(
  'transaction.paid',
  ({ id }, { once }) => {
    runs += 1;
    once(() => db.prepare('INSERT INTO paid VALUES (?)').run(id));
    if (runs === 1) throw new Error('after the write');
  },
  { name: 'mark-paid' },
);
const { body, headers } = signedDelivery(fixtures.transactionPaid(), { privateKey: 'pri_of_the_shop' });
const statuses = [];
for (let sent = 0; sent < 3; sent += 1) {
  const request = new Request('http://localhost/hooks', { method: 'POST', body, headers });
  statuses.push((await hooks.fetch(request)).status);
}
await hooks.close();
const paid = db.prepare('SELECT count(*) AS n FROM paid').get().n;
console.log(JSON.stringify({ node: process.version, cases: cases.length, failures, statuses, runs, paid }));
`;

const { bin, missing } = installRuntime({ package: 'node@24', command: 'node' });

(missing ? describe.skip : describe)(`better-sqlite3 13${missing ? ` (${missing})` : ''}`, () => {
  test('keeps both contracts, and writes once', async () => {
    const project = await consumer('better-sqlite3-13', ['better-sqlite3@13']);
    project.write('shop.mjs', PROGRAM);
    const { stdout, stderr } = await project.shell(`${bin}/node shop.mjs`);
    expect(stderr).toBe('');
    const { cases, ...found } = JSON.parse(stdout);
    expect(found).toEqual({
      node: expect.stringMatching(/^v24\./),
      failures: [],
      statuses: [500, 200, 200],
      runs: 2,
      paid: 1,
    });
    expect(cases).toBeGreaterThan(60);
  }, 240_000);
});
