// What the routes of the simulator share: JSON bodies, and changes that outlive a crash.
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { HttpError } from '../../pages/http-error.js';
import { READ_METHODS, route } from '../../pages/route.js';
import type { Service } from '../service.js';

/** Refuses writes of another content type: a form, or a script of another origin, can send those unasked. */
export const requireJson: RequestHandler = (request, _response, next) => {
  const type = request.headers['content-type'];
  const isJson = type?.split(';')[0]?.trim().toLowerCase() === 'application/json';
  const hasNoBody = request.method === 'DELETE' && type === undefined;
  if (READ_METHODS.has(request.method) || hasNoBody || isJson) next();
  else next(new HttpError(415, 'Send this request with Content-Type: application/json.'));
};

export const readJson: RequestHandler = express.json({ limit: '1mb', inflate: false });

/** A change: answered with what `work` returns once it would survive a crash. 204 has no body. */
export function change(
  service: Service,
  status: number,
  work: (request: Request, response: Response) => unknown,
): RequestHandler {
  return route(async (request, response) => {
    const body = await work(request, response);
    await service.saved();
    response.status(status);
    if (status === 204) response.end();
    else response.json(body);
  });
}

/** Adds routes that change something; see {@link change}. */
export function writeRoutes(router: Router, service: Service) {
  return (
    method: 'post' | 'put' | 'delete',
    path: string,
    status: number,
    work: (request: Request) => unknown,
  ): unknown => router[method](path, change(service, status, work));
}

/** The fields of the body. @throws {HttpError} for a body that is not an object */
export function fieldsOf({ body }: Request): { readonly [field: string]: unknown } {
  if (body === undefined || body === null) return {};
  if (typeof body !== 'object' || Array.isArray(body))
    throw new HttpError(422, 'The body must be a JSON object.');
  return body;
}
