// The costs, how receivers scale, and what that makes of three rates of deliveries, as Markdown.
import { machine, table, today } from '../setup/figures.js';
import { type Costs, type Demand, mostPerSecond, need, whole } from './cost-model.js';
import type { Measured } from './costs.js';
import type { Scaled } from './scaling.js';

const DAY = 86_400;
const RATES = [1_000, 10_000, 100_000];
const RETENTIONS = [2, 30];
const ASSUMED = { repeated: 0, handlers: 0, held: 0.2, busy: 0.5 };
const ROWS_A_PARTITION = 50e6;
const BYTES_A_SHARD = 32e9;
/** CPUs that others may have while receivers are counted. */
const QUIET = 0.15;

export interface Scale {
  readonly costs: Measured;
  readonly scaled: readonly Scaled[];
  readonly bodyBytes: number;
  /** Of the machine. */
  readonly cpus: number;
}

export function markdownOf(scale: Scale): string {
  const { costs, scaled, bodyBytes, cpus } = scale;
  const kilobytes = (bodyBytes / 1_024).toFixed(0);
  const disturbed = scaled.some(({ others }) => others > QUIET);
  return [
    `Node ${process.version}, ${machine()}, ${today()}, by \`npm run bench:scale\`: bodies of ${kilobytes} KB, handlers that do nothing.`,
    ...(disturbed ? ['The machine had other work during this run, so take it for a sketch.'] : []),
    costTable(costs),
    `The s of Postgres includes p = ${micro(costs.prune)} µs to prune the row and to vacuum after it.`,
    '### Held against a run',
    [
      `Receivers with Redis share ${cpus} CPUs with Redis and with the sender, which takes ${micro(costs.sender)} µs for each delivery, and get`,
      'as many deliveries as they take. By the model these are 1 / c for each process, until the CPUs of the machine are',
      'used up.',
    ].join('\n'),
    scalingTable(scale),
    '### What it says',
    [
      `With u = ${ASSUMED.busy}, H = ${ASSUMED.held} s, no duplicates, and h = 0: for what your handlers compute add r × h / u receivers. A`,
      `receiver is a process with a CPU of its own. Shards are at most ${large(BYTES_A_SHARD)}B large, partitions ${large(ROWS_A_PARTITION)} rows.`,
    ].join('\n'),
    demandTable(costs),
  ].join('\n\n');
}

function costTable({ memory, redis, postgres, transactional }: Measured): string {
  const rows: [string, Costs][] = [
    ['memory', memory],
    ['Redis', redis],
    ['Postgres', postgres],
    ['Postgres, transactional', transactional],
  ];
  return table(
    ['store', 'c, µs', 's, µs', 'm, bytes'],
    rows.map(([name, { receiver, server, bytes }]) => [
      name,
      micro(receiver),
      server > 0 ? micro(server) : '',
      Math.round(bytes).toString(),
    ]),
  );
}

function scalingTable({ costs: { redis, sender }, scaled, cpus }: Scale): string {
  return table(
    ['processes', 'deliveries/s', 'by the model', 'CPUs of receivers', 'r × c', 'CPUs of Redis', 'r × s'],
    scaled.map(({ processes, perSecond, receiver, server }) => [
      String(processes),
      count(perSecond),
      count(mostPerSecond(redis, { processes, cpus, sender })),
      receiver.toFixed(2),
      (perSecond * redis.receiver).toFixed(2),
      server.toFixed(2),
      (perSecond * redis.server).toFixed(2),
    ]),
  );
}

function demandTable({ redis, postgres, transactional, prune }: Measured): string {
  const at = (costs: Costs, rate: number, days = 1) => {
    const demand: Demand = { ...ASSUMED, rate, retention: days * DAY };
    return need(costs, demand);
  };
  const line = (what: string, of: (rate: number) => string) => [what, ...RATES.map(of)];
  const each = (what: string, of: (rate: number, days: number) => string) =>
    RETENTIONS.map((days) => line(`${what}, ${days} days`, (rate) => of(rate, days)));
  return table(
    ['deliveries a second', ...RATES.map(count)],
    [
      line('at work at once', (rate) => count(at(redis, rate).atOnce)),
      ...each('ids remembered', (rate, days) => large(at(redis, rate, days).ids)),
      line('**Redis**: receivers', (rate) => count(whole(at(redis, rate).processes))),
      line('shards, for their CPU', (rate) => count(whole(at(redis, rate).serverCpus))),
      ...each('shards, for their memory', (rate, days) =>
        count(whole(at(redis, rate, days).bytes / BYTES_A_SHARD)),
      ),
      ...each('memory of all shards', (rate, days) => `${large(at(redis, rate, days).bytes)}B`),
      line('**Postgres**: receivers', (rate) => count(whole(at(postgres, rate).processes))),
      line('CPUs of the server', (rate) => count(whole(at(postgres, rate).serverCpus))),
      line('connections that prune', (rate) => count(whole((rate * prune) / ASSUMED.busy))),
      ...each('disk', (rate, days) => `${large(at(postgres, rate, days).bytes)}B`),
      ...each('partitions', (rate, days) => count(whole(at(postgres, rate, days).ids / ROWS_A_PARTITION))),
      line('**Postgres, transactional**: receivers', (rate) =>
        count(whole(at(transactional, rate).processes)),
      ),
      line('CPUs of the server', (rate) => count(whole(at(transactional, rate).serverCpus))),
      line('connections', (rate) => count(at(transactional, rate).atOnce)),
    ],
  );
}

function micro(seconds: number): string {
  return (seconds * 1e6).toFixed(0);
}

function count(number: number): string {
  return Math.round(number).toLocaleString('en');
}

/** With three digits and a unit, as 173 M. */
export function large(number: number): string {
  const [size, unit] =
    number >= 1e12 ? [1e12, ' T'] : number >= 1e9 ? [1e9, ' G'] : number >= 1e6 ? [1e6, ' M'] : [1e3, ' k'];
  return `${Number((number / size).toPrecision(3))}${unit}`;
}
