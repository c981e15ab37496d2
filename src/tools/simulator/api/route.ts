// Shared by both APIs of the simulator: how a route answers, what a body may be, and 404.
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { isMap } from '../../../events/envelope.js';
import { HttpError } from '../../web/http-error.js';
import { READ_METHODS } from '../../web/request.js';
import type { Service } from '../service.js';

export type Method = 'get' | 'post' | 'put' | 'delete';
type Work = (request: Request, response: Response) => unknown;

/** Adds routes that answer with the JSON of what `work` returns, a write only once every change is on disk. */
export function jsonRoutes(router: Router, service: Service) {
  return (method: Method, path: string, status: number, work: Work): void => {
    router[method](path, async (request, response, next) => {
      try {
        const body = await work(request, response);
        if (method !== 'get') await service.saved();
        // Express sends no body with a 204.
        response.status(status).json(body);
      } catch (error) {
        // Express 4 ignores a rejection.
        next(error);
      }
    });
  };
}

export function idIn(request: Request): string {
  return String(request.params.id);
}

/** The fields of the body. @throws {HttpError} for a body that is not an object */
export function fieldsIn({ body }: Request): { readonly [field: string]: unknown } {
  if (body === undefined || body === null) return {};
  if (isMap(body)) return body;
  throw new HttpError(422, 'The body must be a JSON object.');
}

/** Rejects writes of another content type: forms and cross-origin scripts can send those without a CORS preflight. */
const requireJson: RequestHandler = (request, _response, next) => {
  const type = request.headers['content-type'];
  const isJson = type?.split(';')[0]?.trim().toLowerCase() === 'application/json';
  const hasNoBody = request.method === 'DELETE' && type === undefined;
  if (READ_METHODS.has(request.method) || hasNoBody || isJson) next();
  else next(new HttpError(415, 'Send this request with Content-Type: application/json.'));
};

export const jsonBody: RequestHandler[] = [requireJson, express.json({ limit: '1mb', inflate: false })];

export const notFound: RequestHandler = (_request, _response, next) => next(new HttpError(404, 'Not found.'));
