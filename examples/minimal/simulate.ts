// The second part of the demo: the simulator delivers to the app, and tries again where a delivery fails.
import { styleText } from 'node:util';
import { type Delivery, startSimulator } from 'payment-webhooks/simulator';
import { orders } from './orders.js';

interface Where {
  /** Of the app. */
  readonly url: string;
  readonly privateKey: string;
  /** Of the simulator; any free one where it is taken. */
  readonly port: number;
}

export interface Simulated {
  readonly page: string;
  readonly asExpected: boolean;
  close(): Promise<void>;
}

const PAUSE_MS = 500;

export async function simulate({ url, privateKey, port }: Where): Promise<Simulated> {
  const options = { privateKey, clock: 'real', retry: [PAUSE_MS, '5s', '15s', '60s'] } as const;
  const service = await startSimulator({ ...options, port }).catch(() =>
    startSimulator({ ...options, port: 0 }),
  );
  await service.webhooks.create({ url });
  console.log('The same app, and the simulator as the service: it signs, delivers, and tries again.\n');

  /** One payment, from its first attempt to the one that worked. */
  async function pay(title: string, order_id: string, attempts: number, options = {}): Promise<boolean> {
    const [first] = await service.trigger(
      'transaction.paid',
      { payload: { transaction: { order_id } } },
      options,
    );
    orders.online = true;
    const delivery = await service.waitForDelivery({ id: first?.id ?? '' });
    const right =
      delivery.status === 'delivered' &&
      delivery.attempts.length === attempts &&
      (await orders.isPaid(order_id));
    console.log(`${right ? styleText('green', '✓') : styleText('red', '✗')} ${styleText('bold', title)}`);
    show(delivery);
    return right;
  }

  const results = [
    await pay('A payment is delivered', 'order-2001', 1),
    await pay('A payment is changed on the way', 'order-2002', 2, { fault: 'tamper_body' }),
  ];
  orders.online = false;
  results.push(await pay('A payment arrives while the database is down', 'order-2003', 2));
  const asExpected = results.every(Boolean);
  console.log(
    asExpected
      ? styleText('green', 'Every payment was delivered.')
      : styleText('red', 'Not every delivery ended as expected.'),
  );
  return { page: service.dashboardUrl, asExpected, close: () => service.close() };
}

function show({ attempts }: Delivery): void {
  for (const { number, response, error, diagnosis, will_retry } of attempts) {
    const answer = response ? `${response.status} ${response.body}` : `${error?.code}`;
    console.log(`     ${styleText('dim', `attempt ${number}`)}  ${answer}`);
    if (diagnosis) console.log(`                ${diagnosis}`);
    if (will_retry) console.log(`                next attempt in ${PAUSE_MS / 1_000} s`);
  }
  console.log();
}
