// The Express app of the simulator: the API, the control plane and the page.
import express, { type Express } from 'express';
import { pageRouter } from '../pages/built-page.js';
import { answerErrors } from '../pages/http-error.js';
import { builtPage } from '../pages/package-folder.js';
import { notFound } from '../pages/route.js';
import { controlPlane } from './api/control-plane.js';
import { guard } from './api/guard.js';
import { serviceApi } from './api/service-api.js';
import type { Stream } from './api/stream.js';
import type { Service } from './service.js';

/** @param baseUrl asked for when a request comes: the port is opened later */
export function simulatorApp(service: Service, stream: Stream, baseUrl: () => string): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(guard(service.settings.allowHosts));
  app.use('/api/v2', serviceApi(service, false));
  app.use('/sandbox/api/v2', serviceApi(service, true));
  app.use('/_sim', controlPlane(service, stream, baseUrl));
  app.use(pageRouter(builtPage('dashboard'), NOTICE));
  app.use(notFound);
  app.use(answerErrors(service.settings.logger));
  return app;
}

const NOTICE = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>payment-webhooks simulator</title>
<h1>The simulator is running</h1>
<p>Its page was not built. Run <code>npm run build</code>. The control plane answers under <a href="/_sim/readyz">/_sim</a>.</p>
</html>
`;
