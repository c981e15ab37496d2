// Sends every change to open pages as server-sent events, batched so that a burst costs little.
import type { Request, Response } from 'express';
import { type DeliveryRow, deliveryRow, isoTime } from '../delivery/delivery-record.js';
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
    if (!this.#heartbeat) this.#beat();
    this.#clients.add(response);
    request.on('close', () => this.#clients.delete(response));
  }

  close(): void {
    this.#unwatch();
    cancel(this.#collecting);
    cancel(this.#heartbeat);
    for (const client of this.#clients) client.end();
  }

  #collect(change: Change): void {
    if (change.kind === 'reset') {
      this.#changes.clear();
      this.#send(frame('reset', {}));
    } else if (change.kind !== 'keys') {
      const id = change.kind === 'delivery' ? change.delivery.id : 'id' in change ? change.id : change.kind;
      this.#changes.set(id, change);
      this.#collecting ??= after(COLLECT_MS, () => this.#flush());
    }
  }

  #flush(): void {
    this.#collecting = undefined;
    const { store, faults, scheduler, maxAttempts } = this.#service;
    let frames = '';
    const rows: DeliveryRow[] = [];
    const removed: string[] = [];
    for (const change of this.#changes.values()) {
      const { kind } = change;
      if (kind === 'webhooks') frames += frame(kind, store.webhooksOf(DEVELOPER).map(webhookView));
      else if (kind === 'faults') frames += frame(kind, faults.list());
      else if (kind === 'clock') frames += frame(kind, { now: isoTime(scheduler.now()) });
      else if (kind === 'delivery') rows.push(deliveryRow(change.delivery, maxAttempts));
      else if (kind === 'removed') removed.push(change.id);
    }
    this.#changes.clear();
    if (rows.length > 0) frames += frame('deliveries', rows);
    if (removed.length > 0) frames += frame('removed', removed);
    this.#send(frames);
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
}

function frame(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
