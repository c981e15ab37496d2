// What the example of every framework has to do: started by its README, and sent deliveries of every kind.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery, type SentDelivery } from '../setup/delivery.js';
import { type Reply, send } from '../setup/endpoint.js';
import { head, openSocket } from '../setup/raw-socket.js';
import type { Running } from '../setup/shell.js';
import { type Followed, followExample } from './example.js';

/** That of the READMEs. */
const KEY = 'pri_example';

export const signed = (content: unknown) => delivery(content, KEY);

/** An event whose order tells the app what to do. */
export function paid(order_id: string) {
  return fixtures.transactionPaid({ payload: { transaction: { order_id } } });
}

/**
 * Marks orders as paid, says so, and does what the order is called: one that waits does so until there is a file of its name.
 * It takes the place of the example's database.
 */
const MARK_PAID = `async markPaid(id: string): Promise<void> {
    console.log(\`began \${id}\`);
    if (id === 'fails') throw new Error('the database is down');
    while (id.startsWith('waits') && !existsSync(id)) await pause(20);
    console.log(\`paid \${id}\`);
  }`;
const IMPORTS = `import { existsSync } from 'node:fs';\nimport { setTimeout as pause } from 'node:timers/promises';\n`;

export const ORDERS = `${IMPORTS}\nexport const orders = {\n  ${MARK_PAID},\n};\n`;
export const LEDGER = `${IMPORTS}import { Injectable } from '@nestjs/common';\n\n@Injectable()\nexport class Ledger {\n  ${MARK_PAID}\n}\n`;

export interface FrameworkApp {
  readonly folder: string;
  readonly port: number;
  readonly program: Running;
}

/** @param files of the example that are replaced, or added */
export function describeFramework(
  example: string,
  files: Readonly<Record<string, string>>,
  more: (app: () => FrameworkApp) => void = () => {},
): void {
  describe(`the example ${example}, started by its README alone,`, () => {
    let followed: Followed;
    let port: number;

    beforeAll(async () => {
      followed = await followExample(example, {
        prepare: (folder) => {
          for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
        },
      });
      port = followed.port;
    }, 300_000);

    afterAll(() => followed?.end(), 60_000);

    const program = () => followed.running[0] as Running;
    const post = (sent: SentDelivery): Promise<Reply> => send(port, sent);
    const times = (line: string) => program().output().split(`${line}\n`).length - 1;

    test('processes a delivery once', async () => {
      const sent = signed(paid('order-once'));
      expect(await post(sent)).toMatchObject({
        status: 200,
        headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
        body: { received: true, outcome: 'processed' },
      });
      expect(await post(sent)).toMatchObject({ status: 200, body: { outcome: 'duplicate' } });
      await program().printed('paid order-once\n');
      expect(times('began order-once')).toBe(1);
    });

    test('refuses one that is forged', async () => {
      const forged = delivery(paid('order-forged'), 'pri_another');
      expect(await post(forged)).toMatchObject({ status: 401, body: { message: 'Unauthenticated.' } });
      expect(times('began order-forged')).toBe(0);
    });

    test('answers 2xx only when its handler has resolved', async () => {
      let reply: Reply | undefined;
      const waiting = post(signed(paid('waits'))).then((answer) => {
        reply = answer;
      });
      await program().printed('began waits\n');
      // An answer that did not wait would be here before that of a whole delivery after it.
      expect(await post(signed(paid('order-after')))).toMatchObject({ status: 200 });
      expect(reply).toBeUndefined();
      expect(times('paid waits')).toBe(0);
      writeFileSync(join(followed.folder, 'waits'), '');
      await waiting;
      expect(reply).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    });

    test('answers 500 when its handler fails', async () => {
      const failed = { status: 500, body: { code: 'HANDLER_FAILED' } };
      expect(await post(signed(paid('fails')))).toMatchObject(failed);
    });

    test('answers 401 to an unsigned request before its body has come', async () => {
      expect(await answerTo(port, { 'content-length': '1000' })).toMatch(/^HTTP\/1\.1 401 /);
    });

    const wellFormed = { 'x-service-signature': '0'.repeat(64) };

    test('answers 413 to a body over the limit before it has come', async () => {
      const announced = { ...wellFormed, 'content-length': '1000000' };
      expect(await answerTo(port, announced)).toMatch(/^HTTP\/1\.1 413 /);
    });

    test('answers 413 in the middle of a body without a length', async () => {
      const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
      const endless = { ...wellFormed, 'transfer-encoding': 'chunked' };
      expect(await answerTo(port, endless, chunk.repeat(5))).toMatch(/^HTTP\/1\.1 413 /);
    });

    test('handles nothing of a sender that leaves midway, and goes on', async () => {
      const { body, headers } = signed(paid('order-half'));
      for (let senders = 0; senders < 3; senders += 1) {
        const sender = await openSocket(port);
        sender.write(head([...Object.entries(headers), ['content-length', body.length]]));
        sender.write(body.subarray(0, 20));
        sender.socket.resetAndDestroy();
      }
      await program().printed('"BODY_ABORTED"');
      expect(await post(signed(paid('order-next')))).toMatchObject({ body: { outcome: 'processed' } });
      expect(times('began order-half')).toBe(0);
    });

    more(() => ({ folder: followed.folder, port, program: program() }));
  });
}

/** What comes back before the body has ended, with the status line first. */
export async function answerTo(
  port: number,
  headers: Readonly<Record<string, string>>,
  begun = '',
): Promise<string> {
  const sender = await openSocket(port);
  sender.write(head([['content-type', 'application/json'], ...Object.entries(headers)]));
  sender.write(begun);
  try {
    return await sender.until(/\r\n\r\n/);
  } finally {
    sender.socket.destroy();
  }
}
