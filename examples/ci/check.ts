// A step of a pipeline: has a payment happen, waits until it was delivered, and looks whether its order is paid.
import type { Delivery } from 'payment-webhooks/simulator';

const simulator = process.env.SERVICE_SIM_URL ?? 'http://127.0.0.1:4747';
const app = process.env.APP_URL ?? 'http://127.0.0.1:3000';
const order_id = `order-${process.pid}`;

/** 0: all is well, 1: it is not, 4: it was not in time. */
async function check(): Promise<number> {
  const triggered = await fetch(`${simulator}/_sim/events`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      event_name: 'transaction.paid',
      overrides: { payload: { transaction: { order_id } } },
    }),
  });
  if (!triggered.ok) return say(1, await triggered.text());
  const { deliveries } = await dataOf<{ deliveries: Delivery[] }>(triggered);
  const [delivery] = deliveries;
  if (!delivery) return say(1, 'No webhook subscribes to transaction.paid.');

  const waited = await fetch(`${simulator}/_sim/wait?id=${delivery.id}&timeout=20s`);
  if (waited.status === 408) return say(4, 'The payment was not delivered within 20 s.');
  const { status, attempts } = await dataOf<Delivery>(waited);
  if (status !== 'delivered') return say(1, `The payment was not delivered. ${attempts.at(-1)?.diagnosis}`);

  const answer = await fetch(`${app}/orders/${order_id}`);
  const order = (await answer.json()) as { paid: boolean };
  if (!order.paid) return say(1, 'The payment was delivered, and its order is not paid.');
  return say(0, `The payment was delivered (attempts: ${attempts.length}), and its order is paid.`);
}

/** The simulator answers `{ data }`. */
async function dataOf<Data>(response: Response): Promise<Data> {
  const { data } = (await response.json()) as { data: Data };
  return data;
}

function say(code: number, text: string): number {
  console.log(text);
  return code;
}

process.exitCode = await check();
