// The five endpoints of the service, at the documented paths and under the sandbox prefix (spec: Endpoints).
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { type Authenticator, type Caller, forbidden } from './authenticate.js';
import { codec } from './codec.js';
import { endpoint, fieldsOf, methodNotAllowed, param, readJson } from './endpoint.js';
import { requireJson } from './guard.js';
import type { Ledger } from './ledger.js';
import { Refusal } from './refusal.js';
import type { Registrations } from './registrations.js';
import type { Scope } from './seeds.js';

/** What the endpoints work with. */
export interface ApiTools {
  readonly ledger: Ledger;
  readonly authenticator: Authenticator;
  readonly registrations: Registrations;
  /** Resolves when what was changed will survive a crash. */
  readonly saved: () => Promise<void>;
}

type Work = (caller: Caller, request: Request, response: Response) => void | Promise<void>;

/** A router for one of the two prefixes: live keys work at one, sandbox keys at the other. */
export function apiRouter(tools: ApiTools, sandbox: boolean): Router {
  const router = express.Router();
  const permitted = (scope: Scope, work: Work): RequestHandler[] => [
    (_request, response, next) => {
      const refused = forbidden(callerOf(response), scope);
      next(refused === undefined ? undefined : new Refusal(403, refused));
    },
    requireJson,
    readJson,
    endpoint((request, response) => work(callerOf(response), request, response)),
  ];
  // Before everything else, also before an unknown path: 401 tells a stranger nothing.
  router.use((request, response, next) => {
    const headers = request.headersDistinct.authorization ?? [];
    const caller = tools.authenticator.authenticate(headers, sandbox);
    if (!caller) return next(new Refusal(401, 'Unauthenticated.'));
    response.locals.caller = caller;
    next();
  });
  router
    .route('/account/me')
    .get(
      permitted(
        'account:read',
        ({ account }, _request, response) => void response.json(codec.account(account)),
      ),
    )
    .all(methodNotAllowed('GET'));
  webhookRoutes(router, tools, permitted);
  router.use((_request, _response, next) => next(new Refusal(404, 'Not found.')));
  return router;
}

function webhookRoutes(
  router: Router,
  { ledger, registrations, saved }: ApiTools,
  permitted: (scope: Scope, work: Work) => RequestHandler[],
): void {
  const list: Work = ({ account }, _request, response) => {
    response.json(codec.webhooks(ledger.webhooksOf(account.id)));
  };
  const create: Work = async ({ account }, request, response) => {
    const webhook = await registrations.create(account.id, codec.readWebhook(fieldsOf(request)));
    await saved();
    response.status(201).json(codec.webhook(webhook));
  };
  const update: Work = async ({ account }, request, response) => {
    const fields = codec.readWebhook(fieldsOf(request));
    const webhook = await registrations.update(account.id, param(request, 'id'), fields);
    await saved();
    response.json(codec.webhook(webhook));
  };
  const remove: Work = async ({ account }, request, response) => {
    registrations.delete(account.id, param(request, 'id'));
    await saved();
    response.status(204).end();
  };
  router
    .route('/webhooks')
    .get(permitted('webhooks:read', list))
    .post(permitted('webhooks:write', create))
    .all(methodNotAllowed('GET', 'POST'));
  router
    .route('/webhooks/:id')
    .put(permitted('webhooks:write', update))
    .delete(permitted('webhooks:write', remove))
    .all(methodNotAllowed('PUT', 'DELETE'));
}

function callerOf(response: Response): Caller {
  return response.locals.caller as Caller;
}
