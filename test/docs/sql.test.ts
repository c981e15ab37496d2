// The first example of docs/sql.md runs as it stands there, on a MariaDB.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import { KEY } from '../setup/delivery.js';
import { codeBlocks } from '../setup/markdown.js';
import { ownMariadb, withMariadb } from '../setup/own-mariadb.js';
import { ROOT, tsx } from '../setup/shell.js';

const DRIVER = `
import { delivery } from '../../test/setup/delivery.js';
import { hooks } from './app.js';
const refund = { id: 'e-1', event_name: 'refund.made', sandbox: false, payload: {} };
const paid = delivery();
for (const { body, headers } of [paid, paid, delivery(refund)]) {
  const send = () => hooks.fetch(new Request('http://localhost/', { method: 'POST', body, headers }));
  let response = await send();
  // On a busy machine the store may miss its deadline: the sender tries again, as the service does.
  while (response.status === 503) response = await send();
  console.log(response.status, (await response.json()).outcome);
}
console.log('letters', (await hooks.deadLetters.count()).total);
process.exit();
`;

withMariadb('docs/sql.md', () => {
  const mariadb = ownMariadb();

  test('begins with an app that keeps a payment once, and an undeclared event as a letter', async () => {
    const url = mariadb.server.url.replace(/mysql$/, 'shop');
    const connection = await createConnection(mariadb.server.url);
    await connection.query('CREATE DATABASE shop');
    await connection.query('CREATE TABLE shop.ledger (payment VARCHAR(64) NOT NULL)');
    const folder = join(ROOT, '.scratch/sql-docs');
    mkdirSync(folder, { recursive: true });
    const [app] = codeBlocks(join(ROOT, 'docs/sql.md'));
    writeFileSync(join(folder, 'app.ts'), app?.text ?? '');
    writeFileSync(join(folder, 'driver.ts'), DRIVER);
    const env = { ...process.env, DATABASE_URL: url, SERVICE_PRIVATE_KEY: KEY };
    const { stdout, code } = await tsx([join(folder, 'driver.ts')], { env });
    expect([code, stdout.match(/^(?:200|letters) .*$/gm)]).toEqual([
      0,
      ['200 processed', '200 duplicate', '200 kept', 'letters 1'],
    ]);
    const [rows] = await connection.query('SELECT COUNT(*) AS payments FROM shop.ledger');
    expect(rows).toEqual([{ payments: 1 }]);
    await connection.end();
  }, 120_000);
});
