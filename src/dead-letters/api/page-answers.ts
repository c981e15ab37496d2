// How the page answers: JSON, and errors that say what to do and nothing of the inside.
import type { ErrorRequestHandler, Request, Response } from 'express';
import { describeError } from '../../delivery/describe-error.js';
import { ConfigurationError, StoreError } from '../../errors.js';
import { type Logger, writeLog } from '../../logger.js';
import { HttpError } from '../../pages/http-error.js';

const CODES: ReadonlyMap<number, string> = new Map([
  [400, 'MALFORMED'],
  [403, 'FORBIDDEN'],
  [404, 'NOT_FOUND'],
  [405, 'METHOD_NOT_ALLOWED'],
  [409, 'CHANGED'],
  [413, 'TOO_LARGE'],
  [415, 'NOT_JSON'],
  [422, 'INVALID'],
  [503, 'STORE_UNAVAILABLE'],
]);

export interface PageError {
  readonly message: string;
  readonly code: string;
}

/** By the methods of Node: settings of the app, such as `json replacer`, change nothing. */
export function sendJson(response: Response, status: number, body: object): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': bytes.length,
  });
  response.end(bytes);
}

/** The last handler of the page. A person who opens the page reads text. */
export function answerErrors(logFor: (request: Request) => Logger): ErrorRequestHandler {
  return (error: unknown, request, response, _next) => {
    const { status, ...body } = answerTo(error);
    // Each of the others was logged where it happened.
    if (status === 500 && !(error instanceof HttpError))
      writeLog(logFor(request), 'error', { error: describeError(error) }, 'the dead-letter page failed');
    if (response.headersSent) response.destroy();
    else if (request.headers['sec-fetch-mode'] === 'navigate' || wantsHtml(request)) {
      response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' });
      response.end(`${body.message}\n`);
    } else sendJson(response, status, body);
  };
}

/** Browsers name it first when somebody opens an address; scripts and programs do not. */
function wantsHtml({ headers }: Request): boolean {
  return headers.accept?.startsWith('text/html') ?? false;
}

/** Never what a store or a handler said. */
export function answerTo(error: unknown): PageError & { readonly status: number } {
  if (error instanceof HttpError) return withCode(error.status, error.message);
  if (ConfigurationError.is(error)) return withCode(422, error.message);
  if (StoreError.is(error))
    return withCode(503, 'The store of dead letters did not answer. The log says why. Try again.');
  const { status } = (error ?? {}) as { status?: unknown };
  // Of Express, for a path that is no text.
  if (status === 400 || status === 404) return withCode(status, 'The path of the request is malformed.');
  return withCode(500, 'The page failed. The log says why.');
}

function withCode(status: number, message: string): PageError & { readonly status: number } {
  return { status, message, code: CODES.get(status) ?? 'FAILED' };
}
