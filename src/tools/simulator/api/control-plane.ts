// The control plane under /_sim, for the page, the command line and scripts.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import express, { type Request, type RequestHandler, type Router } from 'express';
import { builtInEventNames } from '../../../events/event.js';
import { fixtures, samplePayload } from '../../../fixtures/fixture.js';
import { parseDuration } from '../../../options/duration.js';
import { signWith } from '../../../signature.js';
import { HttpError } from '../../pages/http-error.js';
import { packageFolder } from '../../pages/package-folder.js';
import { queryOf } from '../../pages/request.js';
import { curlCommand } from '../delivery/curl.js';
import { deliveryRecord, deliveryRow } from '../delivery/delivery-record.js';
import type { DeliveryStatus } from '../delivery/delivery-status.js';
import { readFaultRule } from '../delivery/faults.js';
import type { SimulatedAttempt, SimulatedDelivery } from '../delivery/simulated-delivery.js';
import { DEVELOPER } from '../seeds.js';
import type { Service } from '../service.js';
import type { SimulatorStore } from '../simulator-store.js';
import { readTrigger } from '../trigger.js';
import {
  type DeliveryFilter,
  deliveryFilter,
  type Given,
  waitFilter,
  waitForDelivery,
} from './delivery-filter.js';
import { webhookView } from './registrations.js';
import { fieldsOf, jsonRoutes, notFound, param, readJson, requireJson, route } from './route.js';
import type { Stream } from './stream.js';

/** @param baseUrl read per request, because the port is opened later */
export function controlPlane(service: Service, stream: Stream, baseUrl: () => string): Router {
  const router = express.Router();
  const { get, write } = jsonRoutes(router, service);
  router.use(requireJson, readJson);
  get('/readyz', () => service.describe());
  router.get('/stream', (request, response) => stream.open(request, response));
  get('/openapi.json', () => openApiDocument(baseUrl()));
  router.get('/what-is-documented', (_request, response) => {
    // Plain text, because browsers download Markdown.
    response.type('text/plain').send(documentIn('docs/what-is-documented.md'));
  });
  eventRoutes(router, service);
  webhookRoutes(router, service);
  deliveryRoutes(router, service);
  faultRoutes(router, service);
  write('post', '/keys', 204, (request) => {
    const { private_key, sandbox_key } = fieldsOf(request);
    service.rotateKeys({ privateKey: private_key, sandboxKey: sandbox_key });
  });
  write('post', '/keys/rotate', 201, () => ({ data: { private_key: service.makePrivateKey() } }));
  write('post', '/reset', 204, () => service.reset());
  router.use(notFound);
  return router;
}

function eventRoutes(router: Router, service: Service): void {
  const { get } = jsonRoutes(router, service);
  get('/events', () => {
    const sample = (name: string) => fixtures.event(name, samplePayload(name) ?? {});
    return { data: builtInEventNames.map((name) => ({ event_name: name, sample: sample(name) })) };
  });
  const triggerEvents = route(async (request, response) => {
    const trigger = readTrigger(fieldsOf(request));
    const { events, deliveries } = service.trigger(trigger);
    const data = {
      events: events.map(({ id, name, sandbox }) => ({ id, event_name: name, sandbox })),
      deliveries: deliveries.map(deliveryRecord),
    };
    await service.saved();
    // Not awaited: an endpoint may call back during a delivery.
    for (const delivery of deliveries) void service.deliverer.send(delivery);
    const message = `No webhook subscribes to ${trigger.name}, so nothing is delivered. Register a webhook first.`;
    response.status(202).json({ data, ...(deliveries.length === 0 ? { message } : {}) });
  });
  router.post('/events', triggerEvents);
}

function webhookRoutes(router: Router, service: Service): void {
  const { store, registrations } = service;
  const { get, write } = jsonRoutes(router, service);
  get('/webhooks', () => ({ data: store.webhooksOf(DEVELOPER).map(webhookView) }));
  write('post', '/webhooks', 201, async (request) => {
    const { url, events } = fieldsOf(request);
    return { data: webhookView(await registrations.create(DEVELOPER, { url, events })) };
  });
  write('put', '/webhooks/:id', 200, async (request) => {
    const webhook = await registrations.update(DEVELOPER, param(request, 'id'), fieldsOf(request));
    return { data: webhookView(webhook) };
  });
  write('delete', '/webhooks/:id', 204, (request) => registrations.delete(DEVELOPER, param(request, 'id')));
}

function faultRoutes(router: Router, service: Service): void {
  const { faults } = service;
  const { get, write } = jsonRoutes(router, service);
  get('/faults', () => ({ data: faults.list() }));
  write('post', '/faults', 201, (request) => ({ data: faults.add(readFaultRule(fieldsOf(request))) }));
  write('delete', '/faults', 204, () => faults.clear());
  write('delete', '/faults/:id', 204, (request) => {
    const id = param(request, 'id');
    if (!faults.remove(id)) throw HttpError.unknown('fault', id);
  });
}

/** The OpenAPI document of the service, with this simulator as its server. */
function openApiDocument(baseUrl: string): object {
  const servers = [{ url: baseUrl }, { url: `${baseUrl}/sandbox` }];
  return { ...JSON.parse(documentIn('docs/openapi.json')), servers };
}

/** @param path relative to the folder of this package */
function documentIn(path: string): string {
  try {
    return readFileSync(join(packageFolder() ?? '', path), 'utf8');
  } catch {
    throw new HttpError(404, `This build does not include ${path}.`);
  }
}

const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 1_000;
const MAX_WAIT_MS = 3_600_000;

function deliveryRoutes(router: Router, service: Service): void {
  const { store, deliverer } = service;
  const { get, write } = jsonRoutes(router, service);
  const deliveryOf = (request: Request) => service.delivery(param(request, 'id'));
  get('/deliveries', (request) => {
    const query = queryOf(request);
    const found = store
      .allDeliveries()
      .reverse()
      .filter(deliveryFilter(filterOf(query)));
    const offset = numberOf(query, 'offset') ?? 0;
    const shown = found.slice(offset, offset + (numberOf(query, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT));
    const view = (delivery: SimulatedDelivery) =>
      query.get('view') === 'rows' ? deliveryRow(delivery, service.maxAttempts) : deliveryRecord(delivery);
    return { data: shown.map(view), total: found.length };
  });
  write('delete', '/deliveries', 200, () => {
    const deleted = store.clearHistory();
    return { data: { deleted, kept: store.deliveries.size } };
  });
  get('/deliveries/:id', (request) => ({ data: deliveryRecord(deliveryOf(request)) }));
  router.get('/deliveries/:id/curl', (request, response) => {
    response.type('text/plain').send(curlCommand(attemptOf(request, deliveryOf(request))));
  });
  get('/deliveries/:id/signature', (request) => {
    const delivery = deliveryOf(request);
    const { sandbox, body } = delivery.event;
    const expected = signWith(attemptOf(request, delivery).body, service.accounts.signingKey(sandbox));
    return { data: { signed: body.toString(), expected } };
  });
  // These two answer before the attempt is made.
  router.post('/deliveries/:id/resend', (request, response) => {
    const delivery = service.resendable(param(request, 'id'));
    response.status(202).json({ data: deliveryRecord(delivery) });
    void deliverer.resend(delivery);
  });
  router.post('/deliveries/:id/retry-now', (request, response) => {
    const delivery = pending(deliveryOf(request));
    response.status(202).json({ data: deliveryRecord(delivery) });
    void deliverer.retryNow(delivery);
  });
  write('post', '/deliveries/:id/cancel', 200, (request) => {
    const delivery = pending(deliveryOf(request));
    deliverer.cancel(delivery, 'request');
    return { data: deliveryRecord(delivery) };
  });
  router.get('/wait', waitRoute(store));
}

/** The attempt that the request names, or the latest. */
function attemptOf(request: Request, { attempts }: SimulatedDelivery): SimulatedAttempt {
  const number = numberOf(queryOf(request), 'attempt');
  const attempt = number === undefined ? attempts.at(-1) : attempts.find((one) => one.number === number);
  if (attempt) return attempt;
  throw new HttpError(404, 'This attempt does not exist. Only the latest 100 attempts are kept.');
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
    const filter = waitFilter({ ...filterOf(query), attempt: numberOf(query, 'attempt') });
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

function filterOf(query: URLSearchParams): Given<DeliveryFilter> {
  const [event, webhook, id, q, payload] = ['event', 'webhook', 'id', 'q', 'payload'].map(
    (name) => query.get(name) || undefined,
  );
  // The filter rejects an unknown status.
  const status = query.get('status')?.split(',') as DeliveryStatus[] | undefined;
  return { status, event, webhook, id, q, payload };
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
