// The commonest fault of this field: webhooks that overtake the order they are about.
import { afterEach, expect, test } from '@jest/globals';
import { memoryDeadLetters, type ReceiverOptions, RetryAfterError, receiver } from 'payment-webhooks';
import { type Simulator, startSimulator } from 'payment-webhooks/simulator';
import { captureLog } from '../setup/captured-log.js';

const EVENTS = 60;
let service: Simulator | undefined;
afterEach(() => service?.close());

/** 60 payments whose orders are committed 3 s after the events happened, by the clock of the service. */
async function sixty(options: ReceiverOptions) {
  service = await startSimulator({ port: 0, retry: ['1s', '5s', '30s'] });
  const log = captureLog();
  const orders = new Set<string>();
  const paid: string[] = [];
  const hooks = receiver({ privateKey: service.privateKey, logger: log.logger, ...options });
  hooks.on('transaction.paid', async ({ payload: { transaction } }) => {
    if (!orders.has(transaction.order_id)) throw new RetryAfterError('1s', 'The order is not committed yet.');
    paid.push(transaction.order_id);
  });
  await service.attach(hooks, '/hooks');
  log.text.length = 0;
  const ids = Array.from({ length: EVENTS }, (_, index) => `order-${index}`);
  await Promise.all(
    ids.map((order_id) => service?.trigger('transaction.paid', { payload: { transaction: { order_id } } })),
  );
  await service.advance('1s');
  expect(service.deliveries({ status: 'retrying' })).toHaveLength(EVENTS);
  await service.advance('2s');
  for (const id of ids) orders.add(id);
  await service.advance('1m');
  return { service, hooks, ids, paid, levels: new Set(log.lines.map(({ level }) => level)) };
}

test.each<[string, ReceiverOptions]>([
  ['without dead letters', {}],
  ['with dead letters', { deadLetters: memoryDeadLetters() }],
])(
  '60 events whose orders come 3 s later are processed, and nothing is logged above info: %s',
  async (_, options) => {
    const { service, hooks, ids, paid, levels } = await sixty(options);
    expect(paid.sort()).toEqual([...ids].sort());
    expect(service.deliveries({ status: 'delivered' })).toHaveLength(EVENTS);
    expect([...levels]).toEqual([30]);
    const [first] = service.deliveries({ status: 'delivered' });
    expect(first?.attempts.map(({ response }) => response?.status)).toEqual([503, 503, 200]);
    expect(first?.attempts[0]?.diagnosis).toBe(
      'Your handler asked for a retry in 1 s: it threw RetryAfterError.',
    );
    if (hooks.deadLetters) expect((await hooks.deadLetters.count()).total).toBe(0);
  },
);

test('the simulator waits for as long as the handler asked, if it is told to', async () => {
  service = await startSimulator({ port: 0, retry: ['5s', '5s'], heedRetryAfter: true });
  const runs: number[] = [];
  const hooks = receiver({ privateKey: service.privateKey, logger: false });
  hooks.on('transaction.paid', () => {
    runs.push(1);
    if (runs.length === 1) throw new RetryAfterError('10m');
  });
  await service.attach(hooks, '/hooks');
  await service.trigger('transaction.paid');
  await service.advance('9m');
  expect(runs).toHaveLength(1);
  await service.advance('1m');
  expect(service.deliveries({ status: 'delivered' })).toHaveLength(1);
});
