// Compares pieces of work in this process: time and CPU of each, in turns, the least disturbed window of each.
import { readdirSync, readFileSync } from 'node:fs';

export const CONCURRENCY = 64;
const ROUNDS = 5;

export interface Subject {
  readonly name: string;
  readonly work: () => Promise<unknown>;
}

export interface Conditions {
  readonly windowMs: number;
  /** The server under test; undefined where there is none, or its CPU cannot be read. */
  readonly serverPid: number | undefined;
}

/** Microseconds for one operation. */
interface Figure {
  /** From one finished operation to the next, all 64 callers together: what else runs on the machine counts too. */
  readonly wall: number;
  /** CPU of this process. */
  readonly client: number;
  /** CPU of the server and its children, read from /proc; 0 without a server or without /proc. */
  readonly server: number;
}

async function measure(work: Subject['work'], { windowMs, serverPid }: Conditions): Promise<Figure> {
  let done = 0;
  const [startedAt, client, server] = [performance.now(), process.cpuUsage(), serverCpu(serverPid)];
  const end = startedAt + windowMs;
  const caller = async () => {
    while (performance.now() < end) {
      await work();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, caller));
  const { user, system } = process.cpuUsage(client);
  return {
    wall: ((performance.now() - startedAt) * 1_000) / done,
    client: (user + system) / done,
    server: (serverCpu(serverPid) - server) / done,
  };
}

/** Microseconds of CPU that the server and its children have used so far. */
export function serverCpu(serverPid: number | undefined): number {
  if (serverPid === undefined) return 0;
  let ticks = 0;
  for (const pid of readdirSync('/proc').map(Number)) {
    // A process may end while the list is read.
    const stat = pid > 0 && readStat(pid);
    if (stat && (pid === serverPid || Number(stat[1]) === serverPid))
      ticks += Number(stat[11]) + Number(stat[12]);
  }
  return ticks * 10_000;
}

/** Microseconds of CPU that children of this process had used when they ended. */
export function endedChildrenCpu(): number {
  const stat = readStat(process.pid) ?? [];
  return (Number(stat[13]) + Number(stat[14])) * 10_000;
}

function readStat(pid: number): string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ');
  } catch {
    return undefined;
  }
}

/** In turns, in another order each round; of each subject the least disturbed window counts. */
export async function compare(subjects: readonly Subject[], conditions: Conditions): Promise<void> {
  const windows = new Map<Subject, Figure[]>(subjects.map((subject) => [subject, []]));
  for (const { work } of subjects) await measure(work, conditions);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [{ work }, figures] of [...windows].toSorted(() => Math.random() - 0.5))
      figures.push(await measure(work, conditions));
  }
  let bare: Figure | undefined;
  for (const [{ name }, figures] of windows) {
    const best = (part: keyof Figure) => Math.min(...figures.map((figure) => figure[part]));
    const figure = { wall: best('wall'), client: best('client'), server: best('server') };
    bare ??= figure;
    console.log(row(name, figure, bare));
  }
}

function row(name: string, { wall, client, server }: Figure, bare: Figure): string {
  const cpu = (client + server) / (bare.client + bare.server);
  return [
    name.padEnd(46),
    `${Math.round(1e6 / wall).toLocaleString('en')}/s`.padStart(10),
    `CPU ${client.toFixed(1).padStart(5)} + ${server.toFixed(1).padStart(5)} µs`,
    `${(wall / bare.wall).toFixed(2)} x time`,
    `${cpu.toFixed(2)} x CPU`,
  ].join('  ');
}
