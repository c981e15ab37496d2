// Everything that answers on the simulator's port: the service's API, the control plane and the page.
import express, { type Express } from 'express';
import { apiRouter } from './api.js';
import { Authenticator } from './authenticate.js';
import { controlRouter } from './control.js';
import { time } from './delivery.js';
import { guard } from './guard.js';
import { openApiDocument } from './openapi.js';
import { pageRouter } from './page.js';
import { answerRefusals, Refusal } from './refusal.js';
import { webhookView } from './registrations.js';
import { rowOf } from './row.js';
import { DEVELOPER } from './seeds.js';
import type { Service } from './service.js';
import { Stream } from './stream.js';

/** @param baseUrl known only once the port is */
export function simulatorApp(service: Service, baseUrl: () => string): { app: Express; stream: Stream } {
  const { ledger, registrations, faults, courier, settings } = service;
  const saved = () => service.saved();
  const maxAttempts = settings.retry.length + 1;
  const stream = new Stream(ledger, {
    hello: () => service.describe(),
    clock: () => ({ now: time(courier.timetable.now()) }),
    webhooks: () => ledger.webhooksOf(DEVELOPER).map(webhookView),
    faults: () => faults.list(),
    row: (delivery) => rowOf(delivery, maxAttempts),
  });
  const api = { ledger, registrations, saved, authenticator: new Authenticator(service.keyring) };
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(guard);
  app.use('/api/v2', apiRouter(api, false));
  app.use('/sandbox/api/v2', apiRouter(api, true));
  app.use(
    '/_sim',
    controlRouter({
      ...{ ledger, registrations, faults, courier, stream, saved, maxAttempts },
      happen: (trigger) => service.happen(trigger),
      settings: () => service.describe(),
      openApi: () => openApiDocument(baseUrl()),
      rotateKeys: (keys) => service.rotateKeys(keys),
      reset: () => service.reset(),
    }),
  );
  app.use(pageRouter());
  app.use((_request, _response, next) => next(new Refusal(404, 'Not found.')));
  app.use(answerRefusals(settings.logger));
  return { app, stream };
}
