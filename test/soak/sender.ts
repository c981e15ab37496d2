// One process of the service: delivers to every store at a steady rate, and stops for a rest when it is told to.
import { Customer } from './customer.js';
import { type FromSender, type Order, type PerStore, RATE, SENDERS, type StoreName } from './merchant.js';

interface Task {
  readonly name: string;
  readonly ports: PerStore<readonly number[]>;
}

const BEAT_MS = 20;
/** To one store: a receiver that answers no more must not be buried. */
const PACES = {
  'warm up': { rate: 1_000, mostAtOnce: 12 },
  go: { rate: RATE / SENDERS.length, mostAtOnce: 200 },
};

const { name, ports } = JSON.parse(process.argv[2] as string) as Task;
const customers = Object.entries(ports).map(
  ([store, its]) => [store as StoreName, new Customer(store as StoreName, name, its)] as const,
);
let beat: NodeJS.Timeout | undefined;

process.on('SIGINT', () => {});
process.on('disconnect', () => process.exit());
process.on('message', (order: Order) => (order === 'rest' ? void rest() : deliver(order)));

function tell(message: FromSender): void {
  process.send?.(message);
}

function perStore<Value>(of: (customer: Customer) => Value): PerStore<Value> {
  return Object.fromEntries(customers.map(([store, customer]) => [store, of(customer)])) as PerStore<Value>;
}

function deliver(pace: keyof typeof PACES): void {
  const { rate, mostAtOnce } = PACES[pace];
  clearInterval(beat);
  let [last, due] = [performance.now(), 0];
  beat = setInterval(() => {
    const now = performance.now();
    due += ((now - last) * rate) / 1_000;
    last = now;
    for (; due >= 1; due -= 1) for (const [, customer] of customers) customer.deliver(mostAtOnce);
  }, BEAT_MS);
}

/** Until every delivery is settled and no connection is open. */
async function rest(): Promise<void> {
  clearInterval(beat);
  await Promise.all(customers.map(([, customer]) => customer.rest()));
  tell({ kind: 'resting', tallies: perStore(({ tally }) => tally) });
}

setInterval(() => {
  tell({
    kind: 'second',
    latencies: perStore((customer) => {
      const { latencies } = customer;
      customer.latencies = [];
      return latencies;
    }),
  });
}, 1_000);
tell({ kind: 'ready' });
