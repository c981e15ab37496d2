import { Agent, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery, hmac, KEY } from '../setup/delivery.js';
import { type OwnProcess, startOwnProcess } from '../setup/own-process.js';

const MB = 1_048_576;
const agent = new Agent({ keepAlive: true, maxSockets: 100 });
const large = Buffer.alloc(200 * 1024, 'x');

let receivers: OwnProcess;
beforeAll(async () => {
  receivers = await startOwnProcess({ privateKey: KEY });
});
afterAll(() => {
  agent.destroy();
  receivers.stop();
});

describe('memory', () => {
  // The first hundreds make the process grow to its working size.
  test('is not taken by forged deliveries: 2,000 of 200 kB, a hundred at once', async () => {
    const forged = { 'x-service-signature': hmac(large, 'pri_other') };
    await flood(300, large, forged, 401);
    const before = await receivers.report('after gc');
    await flood(2_000, large, forged, 401);
    const after = await receivers.report('after gc');
    expect(after.inFlight).toBe(0);
    expect(after.heldBytes - before.heldBytes).toBeLessThan(20 * MB);
  }, 60_000);

  test('is given back after good deliveries: nothing but their ids is remembered', async () => {
    const note = large.toString();
    const good = () => delivery({ ...fixtures.transactionPaid(), note });
    const batch = async (size: number) => {
      const sent = Array.from({ length: size }, good);
      await Promise.all(sent.map(({ body, headers }) => post(body, headers, 200)));
    };
    await batch(20);
    const before = await receivers.report('after gc');
    await batch(100);
    const after = await receivers.report('after gc');
    expect(after.heldBytes - before.heldBytes).toBeLessThan(20 * MB);
  }, 60_000);
});

async function flood(
  count: number,
  body: Buffer,
  headers: Record<string, string>,
  status: number,
): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => post(body, headers, status)));
}

function post(body: Buffer, headers: Readonly<Record<string, string>>, status: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const [, port] = receivers.ports;
    const outgoing = request({ port, host: '127.0.0.1', method: 'POST', agent, headers }, (incoming) => {
      incoming.resume().once('end', () => {
        if (incoming.statusCode === status) resolve();
        else reject(new Error(`answered ${incoming.statusCode}`));
      });
    });
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}
