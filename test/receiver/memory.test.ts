import { Agent, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery, KEY, type SentDelivery } from '../setup/delivery.js';
import { type OwnProcess, startOwnProcess } from '../setup/own-process.js';
import { openDelivery, openSocket, type RawSocket, wire } from '../setup/raw-socket.js';
import { tsx } from '../setup/shell.js';

const MB = 1_048_576;
const large = Buffer.alloc(200 * 1024, 'x');

let receivers: OwnProcess;
beforeAll(async () => {
  receivers = await startOwnProcess({ privateKey: KEY });
});
afterAll(() => receivers.stop());

describe('memory', () => {
  // The first hundreds make the process grow to its working size.
  test('is not taken by forged deliveries: 500 of 200 kB, a hundred at once', async () => {
    const forged = delivery(large, 'pri_other');
    await postAll(Array(200).fill(forged), 401);
    const before = await receivers.report('after gc');
    await postAll(Array(500).fill(forged), 401);
    const after = await receivers.report('after gc');
    expect(after.inFlight).toBe(0);
    expect(after.heldBytes - before.heldBytes).toBeLessThan(20 * MB);
  }, 60_000);

  test('is given back after good deliveries: nothing but their ids is remembered', async () => {
    const note = large.toString();
    const good = () => delivery({ ...fixtures.transactionPaid(), note });
    const batch = (size: number) => postAll(Array.from({ length: size }, good), 200);
    await batch(20);
    const before = await receivers.report('after gc');
    await batch(200); // 39 MB of bodies
    const after = await receivers.report('after gc');
    expect(after.heldBytes - before.heldBytes).toBeLessThan(20 * MB);
  }, 60_000);
});

test('an answered delivery does not outlive the next collection of young objects', async () => {
  // What does is moved to the old generation, and each delivery then costs microseconds of garbage collection.
  const { code, stdout, stderr } = await tsx(['test/setup/answered-deliveries.ts']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const grown: number[] = JSON.parse(stdout);
  expect(grown.filter((bytes) => Math.abs(bytes) > 500)).toEqual([]);
}, 60_000);

test('a body in chunks of one byte holds its bytes and a slab before its signature can be checked', async () => {
  const LIMIT = 16_384;
  const SLAB = 16_384;
  const SENDERS = 50;
  const chunks = Buffer.from('1\r\nx\r\n'.repeat(LIMIT - 1));

  const options = { privateKey: KEY, limit: LIMIT, bodyTimeout: 120_000 };
  const small = await startOwnProcess(options, ['--max-old-space-size=128']);
  const senders: RawSocket[] = [];
  try {
    const honest = async () => {
      const sender = await openSocket(small.ports[2] as number);
      sender.write(wire(delivery()));
      expect(await sender.until(/"outcome"/)).toMatch(/^HTTP\/1\.1 200 /);
      sender.socket.destroy();
    };
    await honest();
    const before = await small.report('after gc');
    for (let index = 0; index < SENDERS; index += 1) {
      const sent = { body: chunks, headers: { 'x-service-signature': 'a'.repeat(64) } };
      const port = small.ports[index % 3] as number;
      senders.push(await openDelivery(port, sent, ['transfer-encoding', 'chunked']));
    }
    await Promise.all(senders.map(({ socket }) => new Promise((sent) => socket.write(chunks, sent))));
    await honest();
    const waiting = await small.report('after gc');
    expect(waiting.inFlight).toBe(SENDERS);
    expect(waiting.heldBytes - before.heldBytes).toBeLessThan(SENDERS * (LIMIT + SLAB) + 20 * MB);
    for (const { write } of senders) write('1\r\nx\r\n0\r\n\r\n');
    const answers = await Promise.all(senders.map((sender) => sender.until(/\}$/)));
    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    await honest();
    expect((await small.report()).unhandled).toEqual([]);
  } finally {
    for (const { socket } of senders) socket.destroy();
    small.stop();
  }
}, 120_000);

/** A hundred at once. */
async function postAll(deliveries: readonly SentDelivery[], status: number): Promise<void> {
  // Connections of its own: the server may be closing those that were idle since an earlier call.
  const agent = new Agent({ keepAlive: true, maxSockets: 100 });
  await Promise.all(deliveries.map((sent) => post(agent, sent, status)));
  agent.destroy();
}

function post(agent: Agent, { body, headers }: SentDelivery, status: number): Promise<void> {
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
