// The third part of the demo: the app of examples/sqlite is killed and started again, and still knows the event.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';

const APP = join(import.meta.dirname, '../sqlite/app.ts');

interface Restarted {
  readonly privateKey: string;
  /** A payment, and its signature. */
  readonly body: string;
  readonly signature: string;
}

/** @returns whether the app answered as expected; true if there is no driver to try it with */
export async function restart({ privateKey, body, signature }: Restarted): Promise<boolean> {
  if (!existsSync(APP) || !(await hasDriver())) {
    console.log(
      '\nNot shown: a restart with SQLite. It needs examples/sqlite, and: npm install better-sqlite3',
    );
    return true;
  }
  console.log('\nThe app of examples/sqlite, which keeps its events in a file.\n');
  const folder = mkdtempSync(join(tmpdir(), 'demo-'));
  const port = await freePort();
  const env = {
    ...process.env,
    SERVICE_PRIVATE_KEY: privateKey,
    DATABASE_FILE: join(folder, 'shop.db'),
    PORT: String(port),
  };
  const answers: string[] = [];
  for (let start = 1; start <= 2; start += 1) {
    const app = spawn(process.execPath, ['--import', 'tsx', APP], {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      await listening(app);
      const headers = { 'content-type': 'application/json', 'x-service-signature': signature };
      const response = await fetch(`http://127.0.0.1:${port}/hooks`, { method: 'POST', headers, body });
      answers.push(`${response.status} ${await response.text()}`);
    } finally {
      const ended = once(app, 'exit');
      app.kill('SIGKILL');
      await ended;
    }
  }
  rmSync(folder, { recursive: true, force: true });
  const asExpected = answers.every((answer, index) =>
    answer.includes(`200 {"received":true,"outcome":"${index === 0 ? 'processed' : 'duplicate'}"}`),
  );
  const mark = asExpected ? styleText('green', '✓') : styleText('red', '✗');
  console.log(
    `${mark} ${styleText('bold', 'The app is killed and started again, and a payment arrives again')}`,
  );
  console.log(`     ${styleText('dim', 'before')}  ${answers[0]}`);
  console.log(`     ${styleText('dim', 'after')}   ${answers[1]}`);
  return asExpected;
}

async function hasDriver(): Promise<boolean> {
  try {
    const { default: Database } = await import('better-sqlite3');
    new Database(':memory:').close();
    return true;
  } catch {
    return false;
  }
}

async function listening(app: ChildProcess): Promise<void> {
  const printed = app.stdout && once(app.stdout, 'data');
  const ended = once(app, 'exit').then(() => Promise.reject(new Error('The app ended before it listened.')));
  await Promise.race([printed, ended]);
  ended.catch(() => {});
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
