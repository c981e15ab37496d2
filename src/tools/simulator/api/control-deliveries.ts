// The part of the control plane that shows deliveries, changes them, and waits for one.
import type { RequestHandler, Router } from 'express';
import { parseDuration } from '../../../options/duration.js';
import { HttpError } from '../../pages/http-error.js';
import { param, queryOf, route } from '../../pages/route.js';
import { curlCommand } from '../delivery/curl.js';
import { deliveryRecord, deliveryRow } from '../delivery/delivery-record.js';
import type { DeliveryStatus } from '../delivery/delivery-status.js';
import type { SimulatedDelivery } from '../delivery/simulated-delivery.js';
import type { Service } from '../service.js';
import type { SimulatorStore } from '../simulator-store.js';
import { type DeliveryFilter, deliveryFilter, waitFilter, waitForDelivery } from './delivery-filter.js';
import { writeRoutes } from './route.js';

const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 1_000;
const MAX_WAIT_MS = 3_600_000;

export function deliveryRoutes(router: Router, service: Service): void {
  readRoutes(router, service);
  retryRoutes(router, service);
  const write = writeRoutes(router, service);
  write('delete', '/deliveries', 200, () => {
    const deleted = service.store.clearHistory();
    return { data: { deleted, kept: service.store.deliveries.size } };
  });
  write('post', '/deliveries/:id/cancel', 200, (request) => {
    const delivery = pending(service.delivery(param(request, 'id')));
    service.store.cancel(delivery, 'request');
    return { data: deliveryRecord(delivery) };
  });
  router.get('/wait', waitRoute(service.store));
}

function readRoutes(router: Router, service: Service): void {
  router.get('/deliveries', (request, response) => {
    const query = queryOf(request);
    const found = service.store
      .allDeliveries()
      .reverse()
      .filter(deliveryFilter(filterOf(query)));
    const shown = found.slice(0, numberOf(query, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT);
    const view = (delivery: SimulatedDelivery) =>
      query.get('view') === 'rows' ? deliveryRow(delivery, service.maxAttempts) : deliveryRecord(delivery);
    response.json({ data: shown.map(view), total: found.length });
  });
  router.get('/deliveries/:id', (request, response) => {
    response.json({ data: deliveryRecord(service.delivery(param(request, 'id'))) });
  });
  router.get('/deliveries/:id/curl', (request, response) => {
    const { attempts } = service.delivery(param(request, 'id'));
    const number = numberOf(queryOf(request), 'attempt');
    const attempt = number === undefined ? attempts.at(-1) : attempts.find((one) => one.number === number);
    if (!attempt)
      throw new HttpError(404, 'There is no such attempt. Only the latest 100 attempts are kept.');
    response.type('text/plain').send(curlCommand(attempt));
  });
}

/** Both answer before the attempt is made. */
function retryRoutes(router: Router, service: Service): void {
  router.post('/deliveries/:id/resend', (request, response) => {
    const delivery = service.resendable(param(request, 'id'));
    response.status(202).json({ data: deliveryRecord(delivery) });
    void service.deliverer.resend(delivery);
  });
  router.post('/deliveries/:id/retry-now', (request, response) => {
    const delivery = pending(service.delivery(param(request, 'id')));
    response.status(202).json({ data: deliveryRecord(delivery) });
    void service.deliverer.retryNow(delivery);
  });
}

function waitRoute(store: SimulatorStore): RequestHandler {
  return route(async (request, response) => {
    const query = queryOf(request);
    const timeout = parseDuration(query.get('timeout') ?? '30s');
    if (timeout === undefined || timeout > MAX_WAIT_MS) {
      throw HttpError.invalid({
        timeout: ['The timeout must be a duration such as "30s", at most an hour.'],
      });
    }
    const attempt = numberOf(query, 'attempt');
    const filter = waitFilter({ ...filterOf(query), ...(attempt === undefined ? {} : { attempt }) });
    const disconnected = new AbortController();
    response.on('close', () => disconnected.abort());
    const found = await waitForDelivery(store, filter, timeout, disconnected.signal);
    if (response.destroyed) return;
    if (!found) throw new HttpError(408, 'No delivery matched within the timeout.');
    response.json({ data: deliveryRecord(found) });
  });
}

function pending(delivery: SimulatedDelivery): SimulatedDelivery {
  if (delivery.nextAttemptAt !== null && delivery.status !== 'in_flight') return delivery;
  throw new HttpError(409, `This delivery is ${delivery.status} and has no pending attempt.`);
}

function filterOf(query: URLSearchParams): DeliveryFilter {
  const text = (name: string) => {
    const value = query.get(name);
    return value ? { [name]: value } : {};
  };
  // The filter refuses an unknown status.
  const status = query.get('status')?.split(',') as DeliveryStatus[] | undefined;
  return { ...text('event'), ...text('webhook'), ...text('id'), ...text('q'), ...(status ? { status } : {}) };
}

function numberOf(
  query: URLSearchParams,
  name: string,
  most: number = Number.MAX_SAFE_INTEGER,
): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= most) return number;
  throw HttpError.invalid({ [name]: [`The ${name} must be a whole number from 1 to ${most}.`] });
}
