// The part of the control plane that shows deliveries, acts on one, and waits for one.
import type { Request, Router } from 'express';
import { parseDuration } from '../duration.js';
import type { Courier } from './courier.js';
import { curlCommand } from './curl.js';
import type { DeliveryEntry, DeliveryStatus } from './delivery.js';
import { endpoint, param, queryOf } from './endpoint.js';
import { type DeliveryFilter, deliveryFilter, Wait, waitFilter } from './filter.js';
import type { Ledger } from './ledger.js';
import { Refusal } from './refusal.js';
import { rowOf } from './row.js';

/** What these routes work with. */
export interface DeliveryTools {
  readonly ledger: Ledger;
  readonly courier: Courier;
  readonly maxAttempts: number;
  /** Resolves when what was changed will survive a crash. */
  readonly saved: () => Promise<void>;
}

const DEFAULT_LIMIT = 500;
const MOST_WAIT_MS = 3_600_000;

export function deliveryRoutes(router: Router, tools: DeliveryTools): void {
  readRoutes(router, tools);
  actRoutes(router, tools);
  waitRoute(router, tools);
}

function readRoutes(router: Router, { ledger, maxAttempts }: DeliveryTools): void {
  router.get(
    '/deliveries',
    endpoint((request, response) => {
      const query = queryOf(request);
      const found = ledger.newestDeliveries().filter(deliveryFilter(filterOf(query)));
      const shown = found.slice(0, numberOf(query, 'limit', 1_000) ?? DEFAULT_LIMIT);
      const rows = query.get('view') === 'rows';
      const view = (delivery: DeliveryEntry) => (rows ? rowOf(delivery, maxAttempts) : delivery.record());
      response.json({ data: shown.map(view), total: found.length });
    }),
  );
  router.get(
    '/deliveries/:id',
    endpoint((request, response) => response.json({ data: find(ledger, request).record() })),
  );
  router.get(
    '/deliveries/:id/curl',
    endpoint((request, response) => {
      const { attempts } = find(ledger, request);
      const number = numberOf(queryOf(request), 'attempt', Number.MAX_SAFE_INTEGER);
      const attempt = number === undefined ? attempts.at(-1) : attempts.find((one) => one.number === number);
      if (!attempt) throw new Refusal(404, 'There is no such attempt: nothing was sent, or it is forgotten.');
      response.type('text/plain').send(curlCommand(attempt));
    }),
  );
}

function actRoutes(router: Router, { ledger, courier, saved }: DeliveryTools): void {
  router.post(
    '/deliveries/:id/resend',
    endpoint((request, response) => {
      const delivery = find(ledger, request);
      if (!ledger.webhooks.has(delivery.webhookId)) {
        throw new Refusal(409, 'Its webhook was deleted, so there is nowhere to send it.');
      }
      response.status(202).json({ data: delivery.record() });
      void courier.resend(delivery);
    }),
  );
  router.post(
    '/deliveries/:id/retry-now',
    endpoint((request, response) => {
      const delivery = waiting(find(ledger, request));
      response.status(202).json({ data: delivery.record() });
      void courier.retryNow(delivery);
    }),
  );
  router.post(
    '/deliveries/:id/cancel',
    endpoint(async (request, response) => {
      const delivery = waiting(find(ledger, request));
      ledger.cancel(delivery, 'request');
      await saved();
      response.json({ data: delivery.record() });
    }),
  );
}

function waitRoute(router: Router, { ledger }: DeliveryTools): void {
  router.get(
    '/wait',
    endpoint(async (request, response) => {
      const query = queryOf(request);
      const timeout = parseDuration(query.get('timeout') ?? '30s');
      if (timeout === undefined || timeout > MOST_WAIT_MS) {
        throw Refusal.invalid({ timeout: ['The timeout must be a duration like "30s", at most an hour.'] });
      }
      const attempt = numberOf(query, 'attempt', Number.MAX_SAFE_INTEGER);
      const filter = { ...filterOf(query), ...(attempt === undefined ? {} : { attempt }) };
      const wait = new Wait(ledger, waitFilter(filter), timeout);
      response.on('close', wait.end);
      const found = await wait.found;
      if (response.destroyed) return;
      if (!found) throw new Refusal(408, 'No such delivery within the timeout.');
      response.json({ data: found.record() });
    }),
  );
}

function find(ledger: Ledger, request: Request): DeliveryEntry {
  const id = param(request, 'id');
  const delivery = ledger.deliveries.get(id);
  if (!delivery) throw Refusal.unknown('delivery', id);
  return delivery;
}

function waiting(delivery: DeliveryEntry): DeliveryEntry {
  if (delivery.nextAttemptAt !== null && delivery.status !== 'in_flight') return delivery;
  throw new Refusal(409, `This delivery is ${delivery.status}: nothing is waiting.`);
}

function filterOf(query: URLSearchParams): DeliveryFilter {
  const text = (name: string) => {
    const value = query.get(name);
    return value ? { [name]: value } : {};
  };
  // The filter refuses what is no status.
  const status = query.get('status')?.split(',') as DeliveryStatus[] | undefined;
  return { ...text('event'), ...text('webhook'), ...text('id'), ...text('q'), ...(status ? { status } : {}) };
}

function numberOf(query: URLSearchParams, name: string, most: number): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= most) return number;
  throw Refusal.invalid({ [name]: [`The ${name} must be a whole number from 1 to ${most}.`] });
}
