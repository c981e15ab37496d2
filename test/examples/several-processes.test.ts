import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { deliver, fixtures } from 'payment-webhooks/testing';
import { delivery } from '../setup/delivery.js';
import { send } from '../setup/endpoint.js';
import { ownRedis, withRedis } from '../setup/own-redis.js';
import { concurrently, deliverUntilAccepted } from '../setup/persistent-sender.js';
import { freePort } from '../setup/ports.js';
import { type Running, shell, startUntil } from '../setup/shell.js';
import { until } from '../setup/waiting.js';

const privateKey = 'pri_example';
const START = 'exec node --import tsx examples/several-processes/app.ts';

function paymentOf(order_id: string) {
  return fixtures.transactionPaid({ payload: { transaction: { order_id } } });
}

withRedis('the example several-processes', () => {
  const redis = ownRedis(privateKey);
  let app: Running;
  let port: number;

  beforeAll(async () => {
    port = await freePort();
    const env = { PORT: String(port), SERVICE_PRIVATE_KEY: privateKey };
    app = await startUntil('processes take deliveries', START, env);
  }, 90_000);

  afterAll(() => app?.stop());

  const ledger = async () =>
    (await redis.client.lrange('ledger', 0, -1)).map((line) => {
      const [order = '', pid = ''] = line.split(' paid in process ');
      return { order, pid: Number(pid) };
    });

  test('works once on each event, whichever processes its copies reach', async () => {
    const orders = Array.from({ length: 200 }, (_, index) => `order-${index}`);
    const events = orders.map((order) => delivery(paymentOf(order), privateKey));
    await concurrently([...events, ...events.toReversed(), ...events], 12, (event) =>
      deliverUntilAccepted(port, event),
    );
    const lines = await ledger();
    expect(lines.map(({ order }) => order).sort()).toEqual(orders.sort());
    expect(new Set(lines.map(({ pid }) => pid)).size).toBeGreaterThan(1);
  }, 120_000);

  test('goes on when a process is killed, and another one takes its place', async () => {
    const { pid } = (await ledger())[0] ?? { pid: 0 };
    process.kill(pid, 'SIGKILL');
    await until(() => app.output().includes(`Process ${pid} has ended`));
    const event = delivery(paymentOf('after'), privateKey);
    expect((await deliverUntilAccepted(port, event)).at(-1)).toBe(200);
    expect((await ledger()).filter(({ order }) => order === 'after')).toHaveLength(1);
  }, 90_000);

  test('loses nothing that it has answered when it is told to stop, and ends every process', async () => {
    const pids = [...new Set((await ledger()).map(({ pid }) => pid))].filter(isAlive);
    expect(pids).not.toEqual([]);
    const parent = Number((await shell(`ps -o ppid= -p ${pids[0]}`)).stdout);
    // 0, of a process that has ended meanwhile, would be the process group of this test.
    expect(parent).toBeGreaterThan(1);
    const accepted: string[] = [];
    let sent = 0;
    // Each of them until its connection is refused, or cut.
    const lane = async () => {
      for (let status = 200; status !== 0; ) {
        sent += 1;
        const order = `last-${sent}`;
        const answer = send(port, delivery(paymentOf(order), privateKey));
        status = (await answer.catch(() => ({ status: 0 }))).status;
        if (status === 200) accepted.push(order);
      }
    };
    const sending = Promise.all(Array.from({ length: 12 }, lane));
    await until(() => accepted.length > 30);
    process.kill(parent, 'SIGTERM');
    await sending;
    const written = (await ledger()).map(({ order }) => order).filter((order) => order.startsWith('last-'));
    expect(written).toEqual(expect.arrayContaining(accepted));
    await until(() => !pids.some(isAlive));
  }, 90_000);

  test('exports an app for the tests of users', async () => {
    const example = await import('../../examples/several-processes/app.js');
    const answer = await deliver(example.app, paymentOf('in-process'), { privateKey });
    expect(answer).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    example.client.disconnect();
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
