// Sends every change to open pages as server-sent events, batched so that a burst costs little.
import type { Request, Response } from 'express';
import { deliveryRow, isoTime } from '../delivery/delivery-record.js';
import { after, cancel, type Timer } from '../real-time.js';
import { DEVELOPER } from '../seeds.js';
import type { Service } from '../service.js';
import type { Change } from '../simulator-store.js';
import { webhookView } from './registrations.js';

const COLLECT_MS = 100;
const HEARTBEAT_MS = 15_000;
// A client this far behind is gone, or catches up faster by reconnecting.
const MAX_UNREAD = 4 * 1024 * 1024;

export class Stream {
  readonly #service: Service;
  readonly #clients = new Set<Response>();
  readonly #unwatch: () => void;
  /** The latest change of each delivery, by its id, and of everything else, by its kind. */
  readonly #changes = new Map<string, Change>();
  #collecting: Timer | undefined;
  #heartbeat: Timer | undefined;

  constructor(service: Service) {
    this.#service = service;
    this.#unwatch = service.store.watch((change) => {
      if (this.#clients.size > 0) this.#collect(change);
    });
  }

  /** Answers the request with the stream, until the client disconnects. */
  open(request: Request, response: Response): void {
    response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
    response.write(frame('hello', this.#service.describe()));
    if (this.#clients.size === 0) this.#beat();
    this.#clients.add(response);
    request.on('close', () => {
      this.#clients.delete(response);
      if (this.#clients.size === 0) this.#stop();
    });
  }

  close(): void {
    this.#unwatch();
    this.#stop();
    for (const client of this.#clients) client.end();
    this.#clients.clear();
  }

  #collect(change: Change): void {
    if (change.kind === 'reset') {
      this.#changes.clear();
      this.#send(frame('reset', {}));
      return;
    }
    if (change.kind === 'keys') return;
    const id = change.kind === 'delivery' ? change.delivery.id : 'id' in change ? change.id : change.kind;
    this.#changes.set(id, change);
    this.#collecting ??= after(COLLECT_MS, () => this.#flush());
  }

  #flush(): void {
    this.#collecting = undefined;
    const { store, faults, scheduler, maxAttempts } = this.#service;
    const changes = [...this.#changes.values()];
    this.#changes.clear();
    const frames: string[] = [];
    for (const { kind } of changes) {
      if (kind === 'webhooks') frames.push(frame(kind, store.webhooksOf(DEVELOPER).map(webhookView)));
      else if (kind === 'faults') frames.push(frame(kind, faults.list()));
      else if (kind === 'clock') frames.push(frame(kind, { now: isoTime(scheduler.now()) }));
    }
    const rows = changes.flatMap((one) =>
      one.kind === 'delivery' ? [deliveryRow(one.delivery, maxAttempts)] : [],
    );
    if (rows.length > 0) frames.push(frame('deliveries', rows));
    const removed = changes.flatMap((one) => (one.kind === 'removed' ? [one.id] : []));
    if (removed.length > 0) frames.push(frame('removed', removed));
    this.#send(frames.join(''));
  }

  #send(text: string): void {
    for (const client of this.#clients) {
      if (client.writableLength > MAX_UNREAD) client.destroy();
      else client.write(text);
    }
  }

  #beat(): void {
    this.#heartbeat = after(HEARTBEAT_MS, () => {
      this.#send(': still here\n\n');
      this.#beat();
    });
  }

  #stop(): void {
    cancel(this.#collecting);
    cancel(this.#heartbeat);
    this.#collecting = undefined;
    this.#changes.clear();
  }
}

function frame(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
