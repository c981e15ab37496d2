// Tells every open page what has changed, as server-sent events: gathered, so that a burst costs little.
import type { Request, Response } from 'express';
import type { DeliveryEntry } from './delivery.js';
import type { Change, Ledger } from './ledger.js';
import { after, cancel, type Timer } from './real-time.js';

/** What the stream shows of each thing. */
export interface StreamViews {
  readonly hello: () => object;
  readonly clock: () => object;
  readonly webhooks: () => object;
  readonly faults: () => object;
  readonly row: (delivery: DeliveryEntry) => object;
}

const GATHER_MS = 100;
const HEARTBEAT_MS = 15_000;
// A reader that is this far behind is gone, or will be faster when it loads the lists anew.
const MOST_UNREAD = 4 * 1024 * 1024;

export class Stream {
  readonly #views: StreamViews;
  readonly #readers = new Set<Response>();
  readonly #unwatch: () => void;
  #deliveries = new Map<string, DeliveryEntry>();
  #removed = new Set<string>();
  #others = new Set<'webhooks' | 'faults' | 'clock'>();
  #gathering: Timer | undefined;
  #heartbeat: Timer | undefined;

  constructor(ledger: Ledger, views: StreamViews) {
    this.#views = views;
    this.#unwatch = ledger.watch((change) => {
      if (this.#readers.size > 0) this.#note(change);
    });
  }

  /** Answers the request with the stream, until the reader leaves. */
  open(request: Request, response: Response): void {
    response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
    response.write(frame('hello', this.#views.hello()));
    if (this.#readers.size === 0) this.#beat();
    this.#readers.add(response);
    request.on('close', () => {
      this.#readers.delete(response);
      if (this.#readers.size === 0) this.#rest();
    });
  }

  close(): void {
    this.#unwatch();
    this.#rest();
    for (const reader of this.#readers) reader.end();
    this.#readers.clear();
  }

  #note(change: Change): void {
    if (change.kind === 'reset') {
      this.#forget();
      this.#send(frame('reset', {}));
      return;
    }
    if (change.kind === 'delivery') this.#deliveries.set(change.delivery.id, change.delivery);
    else if (change.kind === 'removed') {
      this.#deliveries.delete(change.id);
      this.#removed.add(change.id);
    } else if (change.kind !== 'keys') this.#others.add(change.kind);
    this.#gathering ??= after(GATHER_MS, () => this.#flush());
  }

  #flush(): void {
    this.#gathering = undefined;
    const frames: string[] = [];
    for (const kind of this.#others) frames.push(frame(kind, this.#views[kind]()));
    if (this.#deliveries.size > 0)
      frames.push(frame('deliveries', [...this.#deliveries.values()].map(this.#views.row)));
    if (this.#removed.size > 0) frames.push(frame('removed', [...this.#removed]));
    this.#forget();
    this.#send(frames.join(''));
  }

  #send(text: string): void {
    for (const reader of this.#readers) {
      if (reader.writableLength > MOST_UNREAD) reader.destroy();
      else reader.write(text);
    }
  }

  #beat(): void {
    this.#heartbeat = after(HEARTBEAT_MS, () => {
      this.#send(': still here\n\n');
      this.#beat();
    });
  }

  #forget(): void {
    this.#deliveries = new Map();
    this.#removed = new Set();
    this.#others = new Set();
  }

  #rest(): void {
    cancel(this.#gathering);
    cancel(this.#heartbeat);
    this.#gathering = undefined;
    this.#forget();
  }
}

function frame(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
