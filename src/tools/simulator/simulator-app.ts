// The Express app of the simulator: guard, API, control plane and page.
import express, { type Express, type RequestHandler } from 'express';
import { HttpError } from '../web/http-error.js';
import { type PageFile, pageFiles } from '../web/page-files.js';
import { hostHeaders, hostName, isAllowedHost, PAGE_HEADERS, READ_METHODS } from '../web/request.js';
import { answerErrors } from './api/answer-errors.js';
import { controlPlane } from './api/control-plane.js';
import { notFound } from './api/route.js';
import { serviceApi } from './api/service-api.js';
import type { Stream } from './api/stream.js';
import { page } from './packaged.js';
import type { FirstHandler, Service } from './service.js';
import type { SimulatorSettings } from './settings.js';

export function simulatorApp(service: Service, stream: Stream, first?: FirstHandler): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  if (first) app.use(first(service));
  app.use(guard(service.settings));
  if (!service.settings.capture) {
    app.use('/api/v2', serviceApi(service, false));
    app.use('/sandbox/api/v2', serviceApi(service, true));
  }
  app.use('/_sim', controlPlane(service, stream));
  app.use(servePage(pageFiles(page, '/_sim/deliveries')));
  app.use(notFound);
  app.use(answerErrors(service.settings.logger));
  return app;
}

/** Answers 403 to requests for another host, and to those that a page of another origin may have sent. */
function guard({ allowHosts, capture }: SimulatorSettings): RequestHandler {
  const allowed = new Set(allowHosts);
  return (request, response, next) => {
    response.set(PAGE_HEADERS);
    const hosts = hostHeaders(request);
    const [host = ''] = hosts;
    // Protects against DNS rebinding.
    if (hosts.length !== 1 || !isAllowedHost(host, allowed) || !request.url.startsWith('/'))
      return next(new HttpError(403, hostMessage(host, capture !== undefined)));
    const { origin, 'sec-fetch-site': site = 'none' } = request.headers;
    const isOwnOrigin = origin === undefined || origin.toLowerCase() === `http://${host.toLowerCase()}`;
    const isHarmless = READ_METHODS.has(request.method) || site === 'same-origin' || site === 'none';
    next(isOwnOrigin && isHarmless ? undefined : new HttpError(403, FOREIGN_ORIGIN));
  };
}

const FOREIGN_ORIGIN = "Forbidden: this request comes from a different origin than the simulator's page.";

/** While capturing, a stranger must not be the one to name the host to allow: it is that of the tunnel. */
function hostMessage(host: string, captures: boolean): string {
  const name = hostName(host.replace(/:\d{1,5}$/, ''));
  const hint =
    name && !captures
      ? ` To allow it, start the simulator with --allow-host ${name}, or with allowHosts in a program.`
      : '';
  return `Forbidden: the simulator answers to localhost, loopback addresses and allowed hosts, not to ${JSON.stringify(host.slice(0, 100))}.${hint}`;
}

export function servePage(files: ReadonlyMap<string, PageFile>): RequestHandler {
  return (request, response, next) => {
    const file = /^(?:GET|HEAD)$/.test(request.method) && files.get(request.path);
    if (file) response.type(file.type).send(file.body);
    else next();
  };
}
