// The first example of docs/sqlite.md runs as it stands there, in two processes one after the other.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { KEY } from '../setup/delivery.js';
import { codeBlocks } from '../setup/markdown.js';
import { openSqlite, sqliteFile } from '../setup/open-sqlite.js';
import { needing } from '../setup/platform.js';
import { ROOT, tsx } from '../setup/shell.js';

const DRIVER = `
import { delivery } from '../../test/setup/delivery.js';
import { db, hooks } from './app.js';
const refund = { id: 'e-1', event_name: 'refund.made', sandbox: false, payload: {} };
const paid = delivery({ ...JSON.parse(delivery().body.toString()), id: 'e-2' });
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

needing('better-sqlite3').describe('docs/sqlite.md', () => {
  test('begins with an app that remembers a payment, and has an undeclared event as a letter', async () => {
    const { file, remove } = sqliteFile();
    const db = openSqlite(file);
    db.exec(
      `CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT); INSERT INTO orders VALUES ('order-1042', 'open')`,
    );
    const folder = join(ROOT, '.scratch/sqlite-docs');
    mkdirSync(folder, { recursive: true });
    const [app] = codeBlocks(join(ROOT, 'docs/sqlite.md'));
    writeFileSync(join(folder, 'app.ts'), app?.text ?? '');
    writeFileSync(join(folder, 'driver.ts'), DRIVER);
    const env = { ...process.env, DATABASE_FILE: file, SERVICE_PRIVATE_KEY: KEY };
    const run = async () => {
      const { stdout, code } = await tsx([join(folder, 'driver.ts')], { env });
      return [code, stdout.match(/^(?:200|letters) .*$/gm)];
    };
    expect(await run()).toEqual([0, ['200 processed', '200 duplicate', '200 kept', 'letters 1']]);
    expect(await run()).toEqual([0, ['200 duplicate', '200 duplicate', '200 kept', 'letters 1']]);
    expect(db.prepare('SELECT id, status FROM orders').all()).toEqual([{ id: 'order-1042', status: 'paid' }]);
    db.close();
    remove();
  }, 120_000);
});
