// One sender process: delivers to every store at a steady rate, and pauses when it is told to.
import { Load } from './load.js';
import { type Command, type FromSender, type PerStore, RATE, SENDERS, type StoreName } from './merchant.js';

interface Task {
  readonly name: string;
  readonly ports: PerStore<readonly number[]>;
}

const BEAT_MS = 20;
/** For each store, so that a receiver that stops answering does not get more and more. */
const PACES = {
  'warm up': { rate: 1_000, mostAtOnce: 12 },
  go: { rate: RATE / SENDERS.length, mostAtOnce: 200 },
};

const { name, ports } = JSON.parse(process.argv[2] as string) as Task;
const loads = Object.entries(ports).map(
  ([store, its]) => [store as StoreName, new Load(store as StoreName, name, its)] as const,
);
let beat: NodeJS.Timeout | undefined;

process.on('SIGINT', () => {});
process.on('disconnect', () => process.exit());
process.on('message', (order: Command) => (order === 'rest' ? void rest() : deliver(order)));

function tell(message: FromSender): void {
  process.send?.(message);
}

function perStore<Value>(of: (load: Load) => Value): PerStore<Value> {
  return Object.fromEntries(loads.map(([store, load]) => [store, of(load)])) as PerStore<Value>;
}

function deliver(pace: keyof typeof PACES): void {
  const { rate, mostAtOnce } = PACES[pace];
  clearInterval(beat);
  let [last, due] = [performance.now(), 0];
  beat = setInterval(() => {
    const now = performance.now();
    due += ((now - last) * rate) / 1_000;
    last = now;
    for (; due >= 1; due -= 1) for (const [, load] of loads) load.deliver(mostAtOnce);
  }, BEAT_MS);
}

/** Until every delivery is settled and no connection is open. */
async function rest(): Promise<void> {
  clearInterval(beat);
  await Promise.all(loads.map(([, load]) => load.rest()));
  tell({ kind: 'resting', allTotals: perStore(({ totals }) => totals) });
}

setInterval(() => {
  tell({
    kind: 'second',
    latencies: perStore((load) => {
      const { latencies } = load;
      load.latencies = [];
      return latencies;
    }),
  });
}, 1_000);
tell({ kind: 'ready' });
