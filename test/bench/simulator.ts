// How fast the simulator delivers, beside autocannon posting the same bytes to the same endpoint; and what it holds.
// npm run bench:simulator
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { type Delivery, type Simulator, startSimulator } from 'payment-webhooks/simulator';

const EVENTS = 1_000;
const ROUNDS = 5;
const SECONDS = 2;
// As many requests at once as the simulator makes.
const CONNECTIONS = 64;
const MANY = 100_000;
const STEP = 10_000;
const MEBIBYTE = 1024 * 1024;

/** A merchant's app with the receiver. */
const ENDPOINT = ['--import', 'tsx', 'test/bench/endpoint.ts'];

async function startEndpoint(): Promise<string> {
  const child = spawn(process.execPath, ENDPOINT, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production' },
  });
  const [port] = await once(createInterface(child.stdout), 'line');
  return `http://127.0.0.1:${port}/hooks`;
}

/** Deliveries in a second, from the trigger until each is settled. */
async function deliver(service: Simulator): Promise<number> {
  const began = performance.now();
  const deliveries = await service.trigger('transaction.paid', {}, { count: EVENTS });
  const seconds = (performance.now() - began) / 1_000;
  const wrong = deliveries.filter(({ status }) => status !== 'delivered').length;
  if (wrong > 0) throw new Error(`${wrong} of ${EVENTS} were not delivered.`);
  return EVENTS / seconds;
}

/** Requests in a second, with the bytes and headers of a delivery that the simulator has made. */
async function autocannon({ attempts: [attempt] }: Delivery): Promise<number> {
  if (!attempt) throw new Error('There is no attempt to repeat.');
  const { url, headers, body } = attempt.request;
  const own = headers.filter(([name]) => !/^(?:host|content-length|connection)$/i.test(name));
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...['node_modules/autocannon/autocannon.js', '--json', '--method', 'POST', '--body', body],
    ...['--connections', String(CONNECTIONS), '--duration', String(SECONDS)],
    ...own.flatMap(([name, value]) => ['--headers', `${name}=${value}`]),
    url,
  ]);
  const { duration, ...result } = JSON.parse(stdout);
  if (result.non2xx > 0 || result.errors > 0) throw new Error('autocannon was not answered 200.');
  return result['2xx'] / duration;
}

const middle = (numbers: number[]) => numbers.sort((one, other) => one - other)[numbers.length >> 1] ?? 0;
const whole = (number: number) => Math.round(number).toLocaleString('en');

/** For as long as autocannon runs, one trigger after the other. */
async function deliverOn(service: Simulator): Promise<number> {
  const until = performance.now() + SECONDS * 1_000;
  const rates: number[] = [];
  while (performance.now() < until) rates.push(await deliver(service));
  return middle(rates);
}

/** In turns; of each the round counts that was least disturbed by what else the machine does. */
async function compareRates(service: Simulator): Promise<boolean> {
  const first = await deliver(service);
  const rates: { ours: number[]; theirs: number[] } = { ours: [], theirs: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    rates.ours.push(await deliverOn(service));
    rates.theirs.push(await autocannon(service.deliveries()[0] as Delivery));
  }
  const [ours, theirs] = [Math.max(...rates.ours), Math.max(...rates.theirs)];
  console.log(
    `${EVENTS} events to one endpoint: ${whole(ours)} deliveries/s (the first time ${whole(first)}), ` +
      `autocannon ${whole(theirs)} requests/s: ${(ours / theirs).toFixed(2)} of its rate`,
  );
  return ours / theirs >= 1 / 3;
}

async function holdMany(service: Simulator): Promise<boolean> {
  const heaps: number[] = [];
  for (let events = STEP; events <= MANY; events += STEP) {
    for (let some = 0; some < STEP; some += EVENTS) await deliver(service);
    globalThis.gc?.();
    const { heapUsed, external, rss } = process.memoryUsage();
    heaps.push(heapUsed + external);
    const [held, resident] = [heapUsed + external, rss].map((bytes) => (bytes / MEBIBYTE).toFixed(1));
    console.log(
      `${whole(events).padStart(8)} events: ${held} MiB held, ${resident} MiB resident, ${service.deliveries().length} kept`,
    );
  }
  const [first = 0] = heaps;
  return (heaps.at(-1) ?? 0) < first + 5 * MEBIBYTE;
}

const service = await startSimulator({ port: 0, clock: 'real' });
await service.webhooks.create({ url: await startEndpoint() });
const right = [await compareRates(service), await holdMany(service)];
await service.close();
process.exit(right.every(Boolean) ? 0 : 1);
