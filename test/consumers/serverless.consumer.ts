// The examples for Lambda, Workers and Docker compose, each by its README alone, and sent deliveries of every kind.
import { cpSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery, type SentDelivery } from '../setup/delivery.js';
import { send } from '../setup/endpoint.js';
import { SOURCES } from '../setup/lambda-events.js';
import { type Command, commandsOf } from '../setup/readme.js';
import { node, ROOT, type Running } from '../setup/shell.js';
import { type Composed, compose, missingNetwork } from './compose.js';
import { type Followed, followExample } from './example.js';

/** That of the READMEs. */
const KEY = 'pri_example';

const paid = (order_id: string) =>
  fixtures.transactionPaid({ payload: { transaction: { order_id }, customer: { name: 'Zoë 🦊' } } });

/** Calls the handler of a bundle with the events of a file one after the other, as an instance of Lambda does. */
const INSTANCE = `const { handler } = require('./dist/index.cjs');
const { readFileSync, writeFileSync } = require('node:fs');
(async () => {
  const answers = [];
  for (const event of JSON.parse(readFileSync('events.json', 'utf8'))) answers.push(await handler(event, {}));
  writeFileSync('answers.json', JSON.stringify(answers));
})();
`;

describe.each(['aws-lambda', 'serverless-http'])(
  'the example %s, bundled by its README alone,',
  (example) => {
    let followed: Followed;

    beforeAll(async () => {
      followed = await followExample(example);
      writeFileSync(join(followed.folder, 'instance.cjs'), INSTANCE);
    }, 240_000);

    afterAll(() => followed?.end(), 60_000);

    async function answersTo(events: readonly object[]): Promise<[status: number, body: object][]> {
      const cwd = followed.folder;
      writeFileSync(join(cwd, 'events.json'), JSON.stringify(events));
      const env = { SERVICE_PRIVATE_KEY: KEY };
      expect(await node(['instance.cjs'], { cwd, env })).toMatchObject({ code: 0, stderr: '' });
      const answers = require(join(cwd, 'answers.json')) as { statusCode: number; body: string }[];
      return answers.map(({ statusCode, body }) => [statusCode, JSON.parse(body)]);
    }

    test('processes once, and refuses what is forged, from every event source', async () => {
      const cases = SOURCES.flatMap(({ event }, index) =>
        [false, true].flatMap((inBase64) => {
          const sent = delivery(paid(`order-${index}-${inBase64}`), KEY);
          const changed: SentDelivery = { ...sent, body: Buffer.concat([sent.body, Buffer.from(' ')]) };
          const forged = delivery(paid('forged'), 'pri_another');
          return [sent, sent, forged, changed].map((one) => event(one, inBase64));
        }),
      );
      const expected = [
        [200, { received: true, outcome: 'processed' }],
        [200, { received: true, outcome: 'duplicate' }],
        [401, { message: 'Unauthenticated.' }],
        [401, { message: 'Unauthenticated.' }],
      ];
      expect(await answersTo(cases)).toEqual(SOURCES.flatMap(() => [...expected, ...expected]));
    }, 60_000);
  },
);

describe('the example cloudflare-workers, started by its README alone,', () => {
  let followed: Followed;

  beforeAll(async () => {
    followed = await followExample('cloudflare-workers');
  }, 240_000);

  afterAll(() => followed?.end(), 60_000);

  test('processes once, and refuses what is forged', async () => {
    const post = (sent: SentDelivery) => send(followed.port, sent);
    const sent = delivery(paid('order-of-worker'), KEY);
    expect(await post(sent)).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    expect(await post(sent)).toMatchObject({ status: 200, body: { outcome: 'duplicate' } });
    await followed.running[0]?.printed('order-of-worker is paid');
    const forged = delivery(paid('forged'), 'pri_another');
    expect(await post(forged)).toMatchObject({ status: 401, body: { message: 'Unauthenticated.' } });
    expect(followed.running[0]?.output()).not.toContain('forged is paid');
    expect(followed.running[0]?.output()).not.toContain('without the context');
  }, 60_000);
});

const missing = missingNetwork();
const suite = missing ? describe.skip : describe;

suite(`the example docker-compose, as processes${missing ? ` (needs ${missing})` : ''}`, () => {
  const source = join(ROOT, 'examples/docker-compose');
  const [, useIt] = commandsOf(join(source, 'README.md')) as [Command, Command];
  let folder: string;
  let composed: Composed;
  let app: Running;

  beforeAll(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'docker-compose-')));
    cpSync(source, folder, { recursive: true });
    composed = await compose(folder);
    app = await composed.up('app');
    await app.printed('Listening on');
    await composed.up('simulator');
  }, 240_000);

  afterAll(async () => {
    await composed?.down();
    if (folder) rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  /** Triggers an event in the container of the app. */
  const trigger = (more: string) =>
    composed.exec(
      'app',
      `node node_modules/.bin/payment-webhooks trigger transaction.paid --wait --timeout 20s ${more}`,
    );
  const answers = async () => {
    const list = 'node node_modules/.bin/payment-webhooks deliveries list --json';
    const { stdout } = await composed.exec('simulator', list);
    const [latest] = stdout.trim().split('\n');
    const { attempts } = JSON.parse(latest as string);
    return attempts.map(({ response }: { response?: { status: number } }) => response?.status);
  };

  test('the commands of its README are answered as it shows', async () => {
    const [exec = '', curl = ''] = useIt.script.trim().split('\n');
    const script = exec.replace('docker compose exec app ', '');
    expect(script).not.toBe(exec);
    expect(await composed.exec('app', script)).toMatchObject({ code: 0, stderr: '' });
    expect(await composed.exec('app', curl)).toMatchObject({ code: 0, stdout: useIt.shown });
  }, 60_000);

  test('a delivery that comes twice is processed once', async () => {
    expect(await trigger('--fault duplicate')).toMatchObject({ code: 0 });
    expect(await answers()).toEqual([200, 200]);
    await app.printed('"outcome":"duplicate"');
  }, 60_000);

  test('a forged one is refused, and its retry accepted', async () => {
    expect(await trigger('--fault wrong_key')).toMatchObject({ code: 0 });
    expect(await answers()).toEqual([401, 200]);
  }, 60_000);

  test('the simulator answers to its name and to no other, and does not start without', async () => {
    const statusAt = (host: string) =>
      composed.exec(
        'app',
        `curl -s -o /dev/null -w '%{http_code}' -H 'Host: ${host}:4747' http://simulator:4747/_sim/readyz`,
      );
    expect(await statusAt('simulator')).toMatchObject({ stdout: '200' });
    expect(await statusAt('another')).toMatchObject({ stdout: '403' });
    const without = 'node node_modules/.bin/payment-webhooks simulate --host 0.0.0.0 --port 0';
    expect(await composed.exec('simulator', without)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--allow-host simulator'),
    });
  }, 60_000);
});
