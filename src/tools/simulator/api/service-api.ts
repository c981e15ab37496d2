// The API of the service, at the documented paths and under the sandbox prefix (spec: Endpoints).
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { HttpError } from '../../web/http-error.js';
import { type Caller, forbidden } from '../accounts.js';
import type { Scope, SeededAccount } from '../seeds.js';
import type { Service } from '../service.js';
import { webhookRecord } from './registrations.js';
import { fieldsIn, idIn, jsonBody, jsonRoutes, type Method, notFound } from './route.js';

type Work = (account: SeededAccount, request: Request) => unknown;

/** The router of one prefix: live keys work at one, sandbox keys at the other. */
export function serviceApi(service: Service, sandbox: boolean): Router {
  const { store, registrations, accounts } = service;
  const router = express.Router();
  // First, so that 401 does not tell which paths exist.
  router.use((request, response, next) => {
    const caller = accounts.authenticate(request.headersDistinct.authorization ?? [], sandbox);
    response.locals.caller = caller;
    next(caller ? undefined : new HttpError(401, 'Unauthenticated.'));
  });

  const json = jsonRoutes(router, service);
  const on = (method: Method, path: string, scope: Scope, status: number, work: Work) => {
    const permit: RequestHandler = (_request, response, next) => {
      const reason = forbidden(callerOf(response), scope);
      next(reason === undefined ? undefined : new HttpError(403, reason));
    };
    // The permission is checked before the body is read.
    router[method](path, permit, jsonBody);
    json(method, path, status, (request, response) => work(callerOf(response).account, request));
  };
  on('get', '/account/me', 'account:read', 200, (account) => ({ data: account }));
  on('get', '/webhooks', 'webhooks:read', 200, ({ id }) => ({
    data: store.webhooksOf(id).map(webhookRecord),
  }));
  on('post', '/webhooks', 'webhooks:write', 201, async ({ id }, request) => {
    const { url, events } = fieldsIn(request);
    return { data: webhookRecord(await registrations.create(id, { url, events })) };
  });
  on('put', '/webhooks/:id', 'webhooks:write', 200, async ({ id }, request) => {
    const { url, events } = fieldsIn(request);
    return { data: webhookRecord(await registrations.update(id, idIn(request), { url, events })) };
  });
  on('delete', '/webhooks/:id', 'webhooks:write', 204, ({ id }, request) =>
    registrations.delete(id, idIn(request)),
  );
  router.all('/account/me', methodNotAllowed('GET'));
  router.all('/webhooks', methodNotAllowed('GET', 'POST'));
  router.all('/webhooks/:id', methodNotAllowed('PUT', 'DELETE'));
  router.use(notFound);
  return router;
}

function methodNotAllowed(...allowed: string[]): RequestHandler {
  return (_request, response, next) => {
    response.set('Allow', allowed.join(', '));
    next(new HttpError(405, `Use ${allowed.join(' or ')} for this path.`));
  };
}

function callerOf(response: Response): Caller {
  return response.locals.caller as Caller;
}
