// Open-loop arrivals: deliveries are due at random times of a rate, whether earlier ones were answered or not.
import { connect, type Socket } from 'node:net';
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { bodyOf } from '../events.js';
import { KB } from '../profiles.js';
import { ownRequest } from '../schemes.js';

export interface Arrivals {
  /** Microseconds from the time at which a delivery was due to its answer, so that no wait is left out. */
  readonly histogram: RecordableHistogram;
  /** Deliveries that were due. */
  readonly due: number;
  /** Not answered 200, or not at all. */
  readonly failed: number;
  /** More were unanswered at once than half a second brings, so the rest was not sent. */
  readonly overloaded: boolean;
}

export interface Plan {
  readonly port: number;
  /** Deliveries a second. */
  readonly rate: number;
  readonly seconds: number;
  readonly random: () => number;
}

const DRAIN_MS = 3_000;
const BODY = bodyOf('ours', KB);
// Across all windows, so that no process ever sees an id twice.
let lastId = 0;

/** Over as many connections as there are deliveries at once. One that is free is used again, the last one first. */
export async function deliverAt({ port, rate, seconds, random }: Plan): Promise<Arrivals> {
  const histogram = createHistogram({ lowest: 1, highest: 60_000_000, figures: 3 });
  const connections = new Set<Connection>();
  const free: Connection[] = [];
  const most = Math.max(200, rate / 2);
  const startedAt = performance.now();
  const now = () => performance.now() - startedAt;
  let [due, next, open, failed] = [0, 0, 0, 0];
  const send = (at: number) => {
    open += 1;
    lastId += 1;
    const connection = free.pop() ?? new Connection(port);
    connections.add(connection);
    connection.send(ownRequest(BODY, lastId), (status) => {
      open -= 1;
      if (status !== 200) failed += 1;
      if (status > 0) free.push(connection);
      else connections.delete(connection);
      histogram.record(Math.max(1, Math.round((now() - at) * 1_000)));
    });
  };
  while (next < seconds * 1_000 && open <= most) {
    for (; next <= now() && next < seconds * 1_000; next -= (Math.log(1 - random()) / rate) * 1_000) {
      due += 1;
      send(next);
    }
    await pause(1);
  }
  const overloaded = open > most;
  for (const drainedAt = now(); open > 0 && now() < drainedAt + DRAIN_MS; ) await pause(5);
  for (const connection of connections) connection.close();
  return { histogram, due, failed: failed + open, overloaded };
}

type OnAnswer = (status: number) => void;

/** Takes one request at a time. The status is 0 when the connection broke. */
class Connection {
  readonly #socket: Socket;
  #text = '';
  #onAnswer: OnAnswer | undefined;

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.setEncoding('latin1');
    this.#socket.on('data', (chunk: string) => this.#read(chunk));
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => this.#answer(0));
  }

  send(request: string, onAnswer: OnAnswer): void {
    this.#onAnswer = onAnswer;
    this.#socket.write(request);
  }

  close(): void {
    this.#onAnswer = undefined;
    this.#socket.destroy();
  }

  #read(chunk: string): void {
    this.#text += chunk;
    const head = this.#text.indexOf('\r\n\r\n');
    if (head === -1) return;
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(this.#text)?.[1]);
    if (this.#text.length < head + 4 + length) return;
    const status = Number(this.#text.slice(9, 12));
    this.#text = '';
    this.#answer(status);
  }

  #answer(status: number): void {
    const onAnswer = this.#onAnswer;
    this.#onAnswer = undefined;
    onAnswer?.(status);
  }
}
