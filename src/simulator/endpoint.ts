// What every route needs: the JSON body, the parts of the address, and promises that Express 4 does not wait for.
import express, { type Request, type RequestHandler, type Response } from 'express';
import { Refusal } from './refusal.js';

/** Reads a JSON body; a body of another kind has been refused before. */
export const readJson: RequestHandler = express.json({ limit: '1mb', inflate: false });

/** A handler whose failure, thrown or rejected, goes to the error handler. */
export function endpoint(
  work: (request: Request, response: Response) => unknown | Promise<unknown>,
): RequestHandler {
  return (request, response, next) => {
    Promise.resolve(work(request, response)).catch(next);
  };
}

/** The fields of a body that may be missing. @throws {Refusal} for a body that is no object */
export function fieldsOf({ body }: Request): { readonly [field: string]: unknown } {
  if (body === undefined || body === null) return {};
  if (typeof body !== 'object' || Array.isArray(body))
    throw new Refusal(422, 'The body must be a JSON object.');
  return body;
}

/** A path parameter as text. */
export function param(request: Request, name: string): string {
  return String(request.params[name]);
}

/** The query, read the same way under every version of Express. */
export function queryOf(request: Request): URLSearchParams {
  return new URL(request.originalUrl, 'http://localhost').searchParams;
}

export function methodNotAllowed(...allowed: string[]): RequestHandler {
  return (_request, response, next) => {
    response.set('Allow', allowed.join(', '));
    next(new Refusal(405, `Use ${allowed.join(' or ')} for this path.`));
  };
}
