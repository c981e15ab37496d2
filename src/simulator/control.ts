// The simulator's own endpoints under /_sim: for the page, the command line and scripts. No answer holds a key.
import express, { type Router } from 'express';
import { builtInEventNames } from '../events/event.js';
import { fixtures, samplePayload } from '../fixtures/fixture.js';
import { type DeliveryTools, deliveryRoutes } from './control-deliveries.js';
import type { DeliveryEntry, HappenedEvent } from './delivery.js';
import { endpoint, fieldsOf, param, readJson } from './endpoint.js';
import { type FaultRule, type Faults, faultErrors } from './faults.js';
import { requireJson } from './guard.js';
import { Refusal } from './refusal.js';
import { type Registrations, webhookView } from './registrations.js';
import { DEVELOPER } from './seeds.js';
import type { Stream } from './stream.js';
import { readTrigger, type Trigger } from './trigger.js';

/** What the control plane works with. */
export interface ControlTools extends DeliveryTools {
  readonly registrations: Registrations;
  readonly faults: Faults;
  readonly stream: Stream;
  /** Records the events and their deliveries; sends nothing yet. */
  readonly happen: (trigger: Trigger) => { events: HappenedEvent[]; deliveries: DeliveryEntry[] };
  readonly settings: () => object;
  readonly openApi: () => object | undefined;
  readonly rotateKeys: (keys: { privateKey?: unknown; sandboxKey?: unknown }) => void;
  readonly reset: () => Promise<void>;
}

export function controlRouter(tools: ControlTools): Router {
  const router = express.Router();
  router.use(requireJson, readJson);
  router.get('/readyz', (_request, response) => void response.json(tools.settings()));
  router.get('/stream', (request, response) => tools.stream.open(request, response));
  router.get(
    '/openapi.json',
    endpoint((_request, response) => {
      const document = tools.openApi();
      if (!document) throw new Refusal(404, 'This build holds no API description.');
      response.json(document);
    }),
  );
  eventRoutes(router, tools);
  webhookRoutes(router, tools);
  deliveryRoutes(router, tools);
  faultRoutes(router, tools);
  ownRoutes(router, tools);
  router.use((_request, _response, next) => next(new Refusal(404, 'Not found.')));
  return router;
}

function eventRoutes(router: Router, { happen, courier, saved }: ControlTools): void {
  router.get('/events', (_request, response) => {
    const sample = (name: string) => fixtures.event(name, samplePayload(name) ?? {});
    response.json({ data: builtInEventNames.map((name) => ({ event_name: name, sample: sample(name) })) });
  });
  router.post(
    '/events',
    endpoint(async (request, response) => {
      const trigger = readTrigger(fieldsOf(request));
      const { events, deliveries } = happen(trigger);
      const data = {
        events: events.map(({ id, name, sandbox }) => ({ id, event_name: name, sandbox })),
        deliveries: deliveries.map((delivery) => delivery.record()),
      };
      await saved();
      // Not waited for: an endpoint may call back while it is being delivered to.
      for (const delivery of deliveries) void courier.send(delivery);
      const message = `No webhook subscribes to ${trigger.name}: nothing is delivered. Register one first.`;
      response.status(202).json({ data, ...(deliveries.length === 0 ? { message } : {}) });
    }),
  );
}

function webhookRoutes(router: Router, { ledger, registrations, saved }: ControlTools): void {
  router.get('/webhooks', (_request, response) => {
    response.json({ data: ledger.webhooksOf(DEVELOPER).map(webhookView) });
  });
  router.post(
    '/webhooks',
    endpoint(async (request, response) => {
      const { url, events } = fieldsOf(request);
      const webhook = await registrations.create(DEVELOPER, { url, events });
      await saved();
      response.status(201).json({ data: webhookView(webhook) });
    }),
  );
  router.put(
    '/webhooks/:id',
    endpoint(async (request, response) => {
      const { url, events, paused } = fieldsOf(request);
      const webhook = await registrations.update(DEVELOPER, param(request, 'id'), { url, events, paused });
      await saved();
      response.json({ data: webhookView(webhook) });
    }),
  );
  router.delete(
    '/webhooks/:id',
    endpoint(async (request, response) => {
      registrations.delete(DEVELOPER, param(request, 'id'));
      await saved();
      response.status(204).end();
    }),
  );
}

function faultRoutes(router: Router, { faults, saved }: ControlTools): void {
  router.get('/faults', (_request, response) => void response.json({ data: faults.list() }));
  router.post(
    '/faults',
    endpoint(async (request, response) => {
      const { kind, event, webhook, times, probability, delayMs } = fieldsOf(request);
      const rule = { kind, event, webhook, times, probability, delayMs };
      const errors = faultErrors(rule);
      if (errors) throw Refusal.invalid(errors);
      const fault = faults.add(rule as FaultRule);
      await saved();
      response.status(201).json({ data: fault });
    }),
  );
  router.delete(
    '/faults',
    endpoint(async (_request, response) => {
      faults.clear();
      await saved();
      response.status(204).end();
    }),
  );
  router.delete(
    '/faults/:id',
    endpoint(async (request, response) => {
      const id = param(request, 'id');
      if (!faults.remove(id)) throw Refusal.unknown('fault', id);
      await saved();
      response.status(204).end();
    }),
  );
}

function ownRoutes(router: Router, { rotateKeys, reset, saved }: ControlTools): void {
  router.post(
    '/keys',
    endpoint(async (request, response) => {
      const { private_key, sandbox_key } = fieldsOf(request);
      rotateKeys({ privateKey: private_key, sandboxKey: sandbox_key });
      await saved();
      response.status(204).end();
    }),
  );
  router.post(
    '/reset',
    endpoint(async (_request, response) => {
      await reset();
      await saved();
      response.status(204).end();
    }),
  );
}
