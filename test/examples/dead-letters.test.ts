import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { fixtures } from 'payment-webhooks/testing';
import { deliverQuietly } from '../setup/deliver-quietly.js';
import { shell, tsx } from '../setup/shell.js';
import { onPostgres, twice, withPostgres } from './on-postgres.js';

const privateKey = 'pri_letters';

withPostgres('the example dead-letters', () => {
  let port: number;
  let close: () => void;

  const example = onPostgres(privateKey, {
    load: () => {
      process.env.LETTER_KEYS = randomBytes(32).toString('base64');
      process.env.OPS_TOKENS = 'ada:token-of-ada,grace:token-of-grace';
      return import('../../examples/dead-letters/app.js');
    },
    prepare: async (loaded) => {
      await twice(loaded);
      const server = loaded.app.listen(0, '127.0.0.1');
      await once(server, 'listening');
      ({ port } = server.address() as AddressInfo);
      close = () => void server.close();
    },
    end: () => close?.(),
  });

  const deliver = (event: object) => deliverQuietly(example().app, event, { privateKey });
  const bookings = async (id: string) =>
    (await example().pool.query('SELECT event_name FROM booking WHERE event_id = $1', [id])).rows;
  const ask = (path: string, authorization?: string) =>
    fetch(`http://127.0.0.1:${port}/ops/webhooks/${path}`, {
      headers: authorization === undefined ? {} : { authorization },
    });
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

  test('books a payment once', async () => {
    const event = fixtures.transactionPaid();
    expect(await deliver(event)).toMatchObject({ body: { outcome: 'processed' } });
    expect(await deliver(event)).toMatchObject({ body: { outcome: 'duplicate' } });
    expect(await bookings(event.id)).toEqual([{ event_name: 'transaction.paid' }]);
  });

  test('keeps what it cannot book, encrypted', async () => {
    const event = fixtures.event('payout.sent', { payout: { iban: 'canary-of-an-account' } });
    expect(await deliver(event)).toMatchObject({ status: 200, body: { outcome: 'kept' } });
    const { rows } = await example().pool.query('SELECT * FROM dead_letter WHERE event_id = $1', [event.id]);
    expect(rows).toHaveLength(1);
    for (const column of Object.values(rows[0])) expect(String(column)).not.toContain('canary');
    expect(await bookings(event.id)).toEqual([]);
  });

  test('tells a monitor how many letters wait', async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`);
    const { checks } = (await answer.json()) as { checks: { name: string; value: unknown }[] };
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(checks.map(({ name, value }) => [name, value]))).toMatchObject({
      store: 'reachable',
      deadLetterStore: 'reachable',
      deadLetters: 1,
    });
  });

  test.each([
    ['a program by its token', 'Bearer token-of-ada', 'ada'],
    ['another one', 'bearer token-of-grace', 'grace'],
    ['a browser by the same token, whatever name it gives', basic('anybody:token-of-ada'), 'ada'],
  ])('lets %s see the page', async (_, authorization, user) => {
    const answer = await ask('summary', authorization);
    expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ user })]);
  });

  test('lets the program see the letters by a token in a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dead-letters-'));
    const file = join(folder, 'token');
    writeFileSync(file, 'token-of-ada\n');
    const page = `http://127.0.0.1:${port}/ops/webhooks`;
    const outcome = await tsx(['src/cli.ts', 'dead-letters', 'list', '--url', page, '--token-file', file]);
    rmSync(folder, { recursive: true });
    expect(outcome).toMatchObject({ code: 0, stdout: expect.stringContaining('payout.sent') });
  }, 60_000);

  test.each([
    ['no token', undefined],
    ['an empty token', 'Bearer '],
    ['an empty password', basic('ada:')],
    ['no password', basic('ada')],
    ['a name for a token', 'Bearer ada'],
    ['a wrong token', 'Bearer token-of-adb'],
    ['a pair as it is in the environment', 'Bearer ada:token-of-ada'],
  ])('asks who is there where there is %s', async (_, authorization) => {
    for (const path of ['', 'summary', 'letters', 'dead-letter-page.js']) {
      const answer = await ask(path, authorization);
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toMatch(/^Basic realm=/);
      expect(await answer.text()).toBe('Sign in.\n');
    }
  });

  test('does not start with incomplete OPS_TOKENS, and does not print them', async () => {
    const incomplete = ['', 's3cret', 'ada:', ':s3cret', 'ada:s3cret,', 'ada:s3cret,grace'];
    const command = `"${process.execPath}" --import tsx examples/dead-letters/app.ts`;
    const start = (tokens: string) =>
      shell(command, { env: { ...process.env, OPS_TOKENS: tokens, PORT: '0' } });
    const outcomes = await Promise.all(incomplete.map(start));
    for (const [index, { code, stderr }] of outcomes.entries()) {
      expect([incomplete[index], code, stderr]).toEqual([
        incomplete[index],
        1,
        expect.stringContaining('OPS_TOKENS is missing or incomplete'),
      ]);
      expect(stderr).not.toContain('s3cret');
    }
  }, 60_000);
});
