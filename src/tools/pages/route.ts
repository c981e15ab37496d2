// What routes share: parameters, and handlers that may be asynchronous under Express 4 too.
import type { Request, RequestHandler, Response } from 'express';
import { HttpError } from './http-error.js';

export const READ_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** A handler whose error, thrown or rejected, goes to the error handler. */
export function route(work: (request: Request, response: Response) => unknown): RequestHandler {
  return (request, response, next) => {
    Promise.resolve(work(request, response)).catch(next);
  };
}

export function param(request: Request, name: string): string {
  return String(request.params[name]);
}

/** The query, read the same way under every version of Express. */
export function queryOf(request: Request): URLSearchParams {
  const { originalUrl } = request;
  const at = originalUrl.indexOf('?');
  return new URLSearchParams(at === -1 ? '' : originalUrl.slice(at));
}

export function methodNotAllowed(...allowed: string[]): RequestHandler {
  return (_request, response, next) => {
    response.set('Allow', allowed.join(', '));
    next(new HttpError(405, `Use ${allowed.join(' or ')} for this path.`));
  };
}

export const notFound: RequestHandler = (_request, _response, next) => next(new HttpError(404, 'Not found.'));
