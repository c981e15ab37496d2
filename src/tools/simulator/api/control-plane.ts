// The control plane under /_sim, for the page, the command line and scripts. It tells a key only when it makes one.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import express, { type Router } from 'express';
import { builtInEventNames } from '../../../events/event.js';
import { fixtures, samplePayload } from '../../../fixtures/fixture.js';
import { HttpError } from '../../pages/http-error.js';
import { packageFolder } from '../../pages/package-folder.js';
import { notFound, param, route } from '../../pages/route.js';
import { deliveryRecord } from '../delivery/delivery-record.js';
import { readFaultRule } from '../delivery/faults.js';
import { DEVELOPER } from '../seeds.js';
import type { Service } from '../service.js';
import { readTrigger } from '../trigger.js';
import { deliveryRoutes } from './control-deliveries.js';
import { webhookView } from './registrations.js';
import { fieldsOf, readJson, requireJson, writeRoutes } from './route.js';
import type { Stream } from './stream.js';

/** @param baseUrl known only once the port is */
export function controlPlane(service: Service, stream: Stream, baseUrl: () => string): Router {
  const router = express.Router();
  const write = writeRoutes(router, service);
  router.use(requireJson, readJson);
  router.get('/readyz', (_request, response) => void response.json(service.describe()));
  router.get('/stream', (request, response) => stream.open(request, response));
  router.get('/openapi.json', (_request, response) => void response.json(openApiDocument(baseUrl())));
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
  router.get('/events', (_request, response) => {
    const sample = (name: string) => fixtures.event(name, samplePayload(name) ?? {});
    response.json({ data: builtInEventNames.map((name) => ({ event_name: name, sample: sample(name) })) });
  });
  const triggerEvents = route(async (request, response) => {
    const trigger = readTrigger(fieldsOf(request));
    const { events, deliveries } = service.trigger(trigger);
    const data = {
      events: events.map(({ id, name, sandbox }) => ({ id, event_name: name, sandbox })),
      deliveries: deliveries.map(deliveryRecord),
    };
    await service.saved();
    // The answer does not wait: an endpoint may call back during a delivery.
    for (const delivery of deliveries) void service.deliverer.send(delivery);
    const message = `No webhook subscribes to ${trigger.name}, so nothing is delivered. Register a webhook first.`;
    response.status(202).json({ data, ...(deliveries.length === 0 ? { message } : {}) });
  });
  router.post('/events', triggerEvents);
}

function webhookRoutes(router: Router, service: Service): void {
  const { store, registrations } = service;
  const write = writeRoutes(router, service);
  router.get('/webhooks', (_request, response) => {
    response.json({ data: store.webhooksOf(DEVELOPER).map(webhookView) });
  });
  write('post', '/webhooks', 201, async (request) => {
    const { url, events } = fieldsOf(request);
    return { data: webhookView(await registrations.create(DEVELOPER, { url, events })) };
  });
  write('put', '/webhooks/:id', 200, async (request) => {
    const { url, events, paused } = fieldsOf(request);
    const webhook = await registrations.update(DEVELOPER, param(request, 'id'), { url, events, paused });
    return { data: webhookView(webhook) };
  });
  write('delete', '/webhooks/:id', 204, (request) => registrations.delete(DEVELOPER, param(request, 'id')));
}

function faultRoutes(router: Router, service: Service): void {
  const { faults } = service;
  const write = writeRoutes(router, service);
  router.get('/faults', (_request, response) => void response.json({ data: faults.list() }));
  write('post', '/faults', 201, (request) => ({ data: faults.add(readFaultRule(fieldsOf(request))) }));
  write('delete', '/faults', 204, () => faults.clear());
  write('delete', '/faults/:id', 204, (request) => {
    const id = param(request, 'id');
    if (!faults.remove(id)) throw HttpError.unknown('fault', id);
  });
}

/** The OpenAPI document of the service, with this simulator as its server. */
function openApiDocument(baseUrl: string): object {
  const root = packageFolder();
  // An installed package has it in dist, a checkout in docs.
  for (const folder of root === undefined ? [] : [join(root, 'dist'), join(root, 'docs')]) {
    try {
      const document = JSON.parse(readFileSync(join(folder, 'openapi.json'), 'utf8'));
      return { ...document, servers: [{ url: baseUrl }, { url: `${baseUrl}/sandbox` }] };
    } catch {}
  }
  throw new HttpError(404, 'This build has no OpenAPI document.');
}
