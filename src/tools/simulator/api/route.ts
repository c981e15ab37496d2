// Shared by the routes of the simulator: parameters, JSON bodies, durable changes and 404.
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { HttpError } from '../../pages/http-error.js';
import { READ_METHODS } from '../../pages/request.js';
import type { Service } from '../service.js';

export type Work = (request: Request, response: Response) => unknown;

/** Passes a rejection to the error handler, which Express 4 does not do by itself. */
export function route(work: Work): RequestHandler {
  return (request, response, next) => {
    Promise.resolve(work(request, response)).catch(next);
  };
}

/** Answers with what `work` returns. */
export function read(work: Work): RequestHandler {
  return route(async (request, response) => response.json(await work(request, response)));
}

/** Answers with what `work` returns, once every change is on disk. 204 has no body. */
export function change(service: Service, status: number, work: Work): RequestHandler {
  return route(async (request, response) => {
    const body = await work(request, response);
    await service.saved();
    response.status(status);
    if (status === 204) response.end();
    else response.json(body);
  });
}

/** Adds routes to a router that answer with JSON: see {@link read} and {@link change}. */
export function jsonRoutes(router: Router, service: Service) {
  return {
    get: (path: string, work: Work): unknown => router.get(path, read(work)),
    write: (method: 'post' | 'put' | 'delete', path: string, status: number, work: Work): unknown =>
      router[method](path, change(service, status, work)),
  };
}

export function param(request: Request, name: string): string {
  return String(request.params[name]);
}

export const notFound: RequestHandler = (_request, _response, next) => next(new HttpError(404, 'Not found.'));

/** Rejects writes of another content type: forms and cross-origin scripts can send those without a CORS preflight. */
export const requireJson: RequestHandler = (request, _response, next) => {
  const type = request.headers['content-type'];
  const isJson = type?.split(';')[0]?.trim().toLowerCase() === 'application/json';
  const hasNoBody = request.method === 'DELETE' && type === undefined;
  if (READ_METHODS.has(request.method) || hasNoBody || isJson) next();
  else next(new HttpError(415, 'Send this request with Content-Type: application/json.'));
};

export const readJson: RequestHandler = express.json({ limit: '1mb', inflate: false });

/** The fields of the body. @throws {HttpError} for a body that is not an object */
export function fieldsOf({ body }: Request): { readonly [field: string]: unknown } {
  if (body === undefined || body === null) return {};
  if (typeof body !== 'object' || Array.isArray(body))
    throw new HttpError(422, 'The body must be a JSON object.');
  return body;
}
