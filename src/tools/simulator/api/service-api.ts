// The API of the service, at the documented paths and under the sandbox prefix (spec: Endpoints).
import express, { type RequestHandler, type Response, type Router } from 'express';
import { HttpError } from '../../pages/http-error.js';
import { type Accounts, type Caller, forbidden } from '../accounts.js';
import type { Scope } from '../seeds.js';
import type { Service } from '../service.js';
import { codec } from './codec.js';
import { change, fieldsOf, notFound, param, read, readJson, requireJson, type Work } from './route.js';

/** The router of one prefix: live keys work at one, sandbox keys at the other. */
export function serviceApi(service: Service, sandbox: boolean): Router {
  const { store, registrations } = service;
  const router = express.Router();
  // First, so that 401 does not tell which paths exist.
  router.use(authenticate(service.accounts, sandbox));
  const get = (path: string, scope: Scope, work: Work) => router.get(path, permit(scope), read(work));
  const write = (method: 'post' | 'put' | 'delete', path: string, status: number, work: Work) =>
    router[method](path, permit('webhooks:write'), change(service, status, work));
  get('/account/me', 'account:read', (_request, response) => codec.account(callerOf(response).account));
  get('/webhooks', 'webhooks:read', (_request, response) =>
    codec.webhooks(store.webhooksOf(accountId(response))),
  );
  write('post', '/webhooks', 201, async (request, response) => {
    const input = codec.readWebhook(fieldsOf(request));
    return codec.webhook(await registrations.create(accountId(response), input));
  });
  write('put', '/webhooks/:id', 200, async (request, response) => {
    const input = codec.readWebhook(fieldsOf(request));
    return codec.webhook(await registrations.update(accountId(response), param(request, 'id'), input));
  });
  write('delete', '/webhooks/:id', 204, (request, response) =>
    registrations.delete(accountId(response), param(request, 'id')),
  );
  router.all('/account/me', methodNotAllowed('GET'));
  router.all('/webhooks', methodNotAllowed('GET', 'POST'));
  router.all('/webhooks/:id', methodNotAllowed('PUT', 'DELETE'));
  router.use(notFound);
  return router;
}

function authenticate(accounts: Accounts, sandbox: boolean): RequestHandler {
  return (request, response, next) => {
    const caller = accounts.authenticate(request.headersDistinct.authorization ?? [], sandbox);
    response.locals.caller = caller;
    next(caller ? undefined : new HttpError(401, 'Unauthenticated.'));
  };
}

/** Checks the permission before the body is read. */
function permit(scope: Scope): RequestHandler[] {
  const check: RequestHandler = (_request, response, next) => {
    const reason = forbidden(callerOf(response), scope);
    next(reason === undefined ? undefined : new HttpError(403, reason));
  };
  return [check, requireJson, readJson];
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

function accountId(response: Response): string {
  return callerOf(response).account.id;
}
