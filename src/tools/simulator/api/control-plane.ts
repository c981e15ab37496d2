// The control plane under /_sim, for the page, the command line and scripts.
import express, { type Request, type Router } from 'express';
import { builtInEventNames } from '../../../events/event.js';
import { fixtures, samplePayload } from '../../../fixtures/fixture.js';
import { signWith } from '../../../signature.js';
import { parseDuration } from '../../../time.js';
import { HttpError } from '../../web/http-error.js';
import { documentPage } from '../../web/markdown.js';
import { queryOf, READ_METHODS } from '../../web/request.js';
import { curlCommand } from '../delivery/curl.js';
import { deliveryRecord, deliveryRow } from '../delivery/delivery-record.js';
import type { SimulatedAttempt, SimulatedDelivery } from '../delivery/simulated-delivery.js';
import { docs } from '../packaged.js';
import { DEVELOPER } from '../seeds.js';
import type { Service } from '../service.js';
import { deliveryFilter, filterIn, waitForDelivery } from './delivery-filter.js';
import { webhookView } from './registrations.js';
import { fieldsIn, idIn, jsonBody, jsonRoutes, notFound } from './route.js';
import type { Stream } from './stream.js';

const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 1_000;
const MAX_WAIT_MS = 3_600_000;

export function controlPlane(service: Service, stream: Stream): Router {
  const { store, registrations, deliverer, faults } = service;
  const router = express.Router();
  const on = jsonRoutes(router, service);
  router.use(jsonBody);
  // The real service triggers, registers and retries.
  if (service.settings.capture) {
    router.use((request, _response, next) =>
      READ_METHODS.has(request.method) || request.path.startsWith('/deliveries') ? next() : next('router'),
    );
  }

  on('get', '/readyz', 200, () => service.describe());
  router.get('/stream', (request, response) => stream.open(request, response));
  on('get', '/openapi.json', 200, () => {
    const servers = [{ url: service.baseUrl }, { url: `${service.baseUrl}/sandbox` }];
    return { ...JSON.parse(String(docs().get('openapi.json'))), servers };
  });
  router.get('/what-is-documented', (request, response) => {
    const text = docs().get('what-is-documented.md') ?? '';
    // Plain text for programs: browsers would download Markdown.
    if (request.accepts(['text/plain', 'html']) === 'html')
      response.send(documentPage(text, '/dashboard.css'));
    else response.type('text/plain').send(text);
  });

  on('get', '/events', 200, () => {
    const sample = (name: string) => fixtures.event(name, samplePayload(name) ?? {});
    return { data: builtInEventNames.map((name) => ({ event_name: name, sample: sample(name) })) };
  });
  on('post', '/events', 202, (request) => {
    const { events, deliveries } = service.trigger(fieldsIn(request));
    // Sent once they are on disk, and not awaited: an endpoint may call back during a delivery.
    void service.saved().then(() => deliveries.map((delivery) => deliverer.deliver(delivery, 'due')));
    const data = {
      events: events.map(({ id, name, sandbox }) => ({ id, event_name: name, sandbox })),
      deliveries: deliveries.map(deliveryRecord),
    };
    const message = `No webhook subscribes to ${events[0]?.name}, so nothing is delivered. Register a webhook first.`;
    return { data, ...(deliveries.length === 0 ? { message } : {}) };
  });

  on('get', '/webhooks', 200, () => ({ data: store.webhooksOf(DEVELOPER).map(webhookView) }));
  on('post', '/webhooks', 201, async (request) => {
    const { url, events } = fieldsIn(request);
    return { data: webhookView(await registrations.create(DEVELOPER, { url, events })) };
  });
  on('put', '/webhooks/:id', 200, async (request) => {
    const webhook = await registrations.update(DEVELOPER, idIn(request), fieldsIn(request));
    return { data: webhookView(webhook) };
  });
  on('delete', '/webhooks/:id', 204, (request) => registrations.delete(DEVELOPER, idIn(request)));

  const deliveryOf = (request: Request) => service.delivery(idIn(request));
  on('get', '/deliveries', 200, (request) => {
    const query = queryOf(request);
    const matches = deliveryFilter(filterIn(query));
    const found = store.allDeliveries().filter(matches).reverse();
    const offset = numberIn(query, 'offset') ?? 0;
    const shown = found.slice(offset, offset + (numberIn(query, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT));
    const view = (delivery: SimulatedDelivery) =>
      query.get('view') === 'rows' ? deliveryRow(delivery, service.maxAttempts) : deliveryRecord(delivery);
    return { data: shown.map(view), total: found.length };
  });
  on('delete', '/deliveries', 200, () => {
    const deleted = store.clearHistory();
    return { data: { deleted, kept: store.deliveries.size } };
  });
  on('get', '/deliveries/:id', 200, (request) => ({ data: deliveryRecord(deliveryOf(request)) }));
  router.get('/deliveries/:id/curl', (request, response) => {
    response.type('text/plain').send(curlCommand(attemptOf(request, deliveryOf(request))));
  });
  on('get', '/deliveries/:id/signature', 200, (request) => {
    const delivery = deliveryOf(request);
    const { body, finding } = attemptOf(request, delivery);
    // Never the signature of captured bytes by a real key: anybody who sees the page could forge with it.
    const expected = finding ? undefined : signWith(body, service.accounts.signingKey(delivery.event));
    return { data: { signed: delivery.event.body.toString(), expected, finding } };
  });
  const deliver = (delivery: SimulatedDelivery, cause: 'resend' | 'retry-now') => {
    // As it is before the attempt.
    const data = deliveryRecord(delivery);
    void deliverer.deliver(delivery, cause);
    return { data };
  };
  on('post', '/deliveries/:id/resend', 202, (request) =>
    deliver(service.resendable(idIn(request)), 'resend'),
  );
  on('post', '/deliveries/:id/retry-now', 202, (request) =>
    deliver(pending(deliveryOf(request)), 'retry-now'),
  );
  on('post', '/deliveries/:id/cancel', 200, (request) => {
    const delivery = pending(deliveryOf(request));
    deliverer.cancel(delivery, 'request');
    return { data: deliveryRecord(delivery) };
  });
  on('get', '/wait', 200, async (request, response) => {
    const query = queryOf(request);
    const timeout = parseDuration(query.get('timeout') ?? '30s');
    if (timeout === undefined || timeout > MAX_WAIT_MS) {
      throw HttpError.invalid({
        timeout: ['The timeout must be a duration such as "30s", at most an hour.'],
      });
    }
    const filter = { ...filterIn(query), attempt: numberIn(query, 'attempt') };
    const disconnected = new AbortController();
    response.on('close', () => disconnected.abort());
    const found = await waitForDelivery(store, filter, timeout, disconnected.signal);
    if (!found) throw new HttpError(408, 'No delivery matched within the timeout.');
    return { data: deliveryRecord(found) };
  });

  on('get', '/faults', 200, () => ({ data: faults.list() }));
  on('post', '/faults', 201, (request) => ({ data: faults.add(fieldsIn(request)) }));
  on('delete', '/faults', 204, () => faults.clear());
  on('delete', '/faults/:id', 204, (request) => {
    if (!faults.remove(idIn(request))) throw HttpError.unknown('fault', idIn(request));
  });

  on('post', '/keys', 204, (request) => {
    const { private_key: privateKey, sandbox_key: sandboxKey } = fieldsIn(request);
    service.rotateKeys({ privateKey, sandboxKey });
  });
  on('post', '/keys/rotate', 201, () => ({ data: { private_key: service.rotatePrivateKey() } }));
  on('post', '/reset', 204, () => service.reset());
  router.use(notFound);
  return router;
}

function attemptOf(request: Request, { attempts }: SimulatedDelivery): SimulatedAttempt {
  const number = numberIn(queryOf(request), 'attempt');
  const attempt = number === undefined ? attempts.at(-1) : attempts.find((one) => one.number === number);
  if (attempt) return attempt;
  throw new HttpError(404, 'This attempt does not exist. Only the latest 100 attempts are kept.');
}

function pending(delivery: SimulatedDelivery): SimulatedDelivery {
  if (delivery.nextAttemptAt !== null && delivery.status !== 'in_flight') return delivery;
  throw new HttpError(409, `This delivery is ${delivery.status} and has no pending attempt.`);
}

function numberIn(query: URLSearchParams, name: string, most = Number.MAX_SAFE_INTEGER): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= most) return number;
  throw HttpError.invalid({ [name]: [`The ${name} must be an integer from 1 to ${most}.`] });
}
