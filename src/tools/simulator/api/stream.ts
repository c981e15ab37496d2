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

export type Stream = ReturnType<typeof changeStream>;

export function changeStream({ store, faults, scheduler, maxAttempts, describe }: Service) {
  const clients = new Set<Response>();
  /** The latest change of each delivery, by its id, and of everything else, by its kind. */
  const changes = new Map<string, Change>();
  let collecting: Timer | undefined;
  let heartbeat: Timer | undefined;

  const send = (text: string) => {
    for (const client of clients) {
      if (client.writableLength > MAX_UNREAD) client.destroy();
      else client.write(text);
    }
  };

  const flush = () => {
    collecting = undefined;
    let frames = '';
    const rows: DeliveryRow[] = [];
    const removed: string[] = [];
    for (const change of changes.values()) {
      const { kind } = change;
      if (kind === 'webhooks') frames += frame(kind, store.webhooksOf(DEVELOPER).map(webhookView));
      else if (kind === 'faults') frames += frame(kind, faults.list());
      else if (kind === 'clock') frames += frame(kind, { now: isoTime(scheduler.now()) });
      else if (kind === 'delivery') rows.push(deliveryRow(change.delivery, maxAttempts));
      else if (kind === 'removed') removed.push(change.id);
    }
    changes.clear();
    if (rows.length > 0) frames += frame('deliveries', rows);
    if (removed.length > 0) frames += frame('removed', removed);
    send(frames);
  };

  const unwatch = store.watch((change) => {
    if (clients.size === 0) return;
    if (change.kind === 'reset') {
      changes.clear();
      send(frame('reset', {}));
    } else if (change.kind !== 'keys') {
      const id = change.kind === 'delivery' ? change.delivery.id : 'id' in change ? change.id : change.kind;
      changes.set(id, change);
      collecting ??= after(COLLECT_MS, flush);
    }
  });

  const beat = () => {
    heartbeat = after(HEARTBEAT_MS, () => {
      send(': still here\n\n');
      beat();
    });
  };

  return {
    /** Answers the request with the stream, until the client disconnects. */
    open(request: Request, response: Response): void {
      response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
      response.write(frame('hello', describe()));
      if (!heartbeat) beat();
      clients.add(response);
      request.on('close', () => clients.delete(response));
    },

    close(): void {
      unwatch();
      cancel(collecting);
      cancel(heartbeat);
      for (const client of clients) client.end();
    },
  };
}

function frame(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
