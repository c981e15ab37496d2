// Runs the programs of docs/security.md, and checks what the page says of them.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ConfigurationError, receiver } from 'payment-webhooks';
import { fixtures } from 'payment-webhooks/testing';
import { delivery, KEY } from '../setup/delivery.js';
import { send, startEndpoint } from '../setup/endpoint.js';
import { fileIn } from '../setup/markdown.js';
import { freePort } from '../setup/ports.js';
import { ROOT, type Running, startUntil } from '../setup/shell.js';

const folder = join(ROOT, '.scratch/security');
const privateKey = 'pri_security';

beforeAll(() => void mkdirSync(folder, { recursive: true }));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the log of pino-http', () => {
  const program = fileIn(join(ROOT, 'docs/security.md'), 'app.ts');

  /** Delivers once to the program, and returns what it has logged. */
  async function logOf(name: string, text: string, sent: ReturnType<typeof delivery>): Promise<string> {
    writeFileSync(
      join(folder, name),
      `${text}app.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('started'));\n`,
    );
    const port = await freePort();
    const env = { PORT: String(port), SERVICE_PRIVATE_KEY: privateKey };
    const app: Running = await startUntil('started', `exec node --import tsx ${join(folder, name)}`, env);
    try {
      expect(await send(port, sent)).toMatchObject({ status: 200, body: { outcome: 'processed' } });
      await app.printed(/request completed.*\n/);
      return app.output();
    } finally {
      await app.stop('SIGKILL');
    }
  }

  test('has the signature in every line, unless it is redacted as the page shows', async () => {
    const sent = delivery(fixtures.transactionPaid(), privateKey);
    const signature = sent.headers['x-service-signature'] ?? '';
    const redacted = await logOf('redacted.ts', program, sent);
    expect(redacted).not.toContain(signature);
    expect(redacted).toContain('"msg":"paid"');

    const bare = program.replace('{ redact }', '');
    expect(bare).not.toBe(program);
    const lines = (await logOf('bare.ts', bare, sent)).split('\n').filter((line) => line.startsWith('{'));
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['paid', 'delivery', 'request completed']);
    for (const line of lines) expect(line).toContain(signature);
  }, 120_000);
});

describe('a private key', () => {
  test.each(['', ' ', ' pri_a', 'pri_a ', 'pri_\na', 'pri_\u0000a', 'undefined'])(
    'that is %j stops the app when it starts',
    (privateKey) => expect(() => receiver({ privateKey })).toThrow(ConfigurationError),
  );

  test('may have a space inside', () => {
    expect(() => receiver({ privateKey: 'pri a' })).not.toThrow();
  });
});

/** Well-formed, and signed with a key that is none. */
const forged = () => delivery(undefined, 'pri_forged');

describe('a key function', () => {
  test('is asked once for each forged request', async () => {
    let loads = 0;
    const privateKey = async () => {
      loads += 1;
      return KEY;
    };
    const { post } = await startEndpoint({ privateKey });
    const replies = await Promise.all(Array.from({ length: 300 }, () => post(forged())));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([401]));
    expect(loads).toBe(300);
  });

  test('that is too slow for the attack costs genuine deliveries', async () => {
    const { post } = await startEndpoint({ privateKey: () => new Promise(() => {}), storeTimeout: 100 });
    const unavailable = { status: 503, body: { code: 'KEY_UNAVAILABLE' } };
    expect(await Promise.all([post(forged()), post()])).toMatchObject([unavailable, unavailable]);
  });
});
