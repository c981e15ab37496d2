// How the page answers: JSON, and errors that say what to do and nothing of the inside.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ConfigurationError, StoreError } from '../../../errors.js';
import { describeError, type Logger, writeLog } from '../../../logger.js';
import { send } from '../../../receiver/respond.js';
import { HttpError } from '../../pages/http-error.js';

const TEXT = 'text/plain; charset=utf-8';

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

interface ErrorAnswer {
  readonly status: number;
  readonly message: string;
  readonly code: string;
}

interface TextAnswer {
  readonly status: number;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Writes the answer, unless the client has left or other code, such as a timeout, has answered. Never throws. */
export function sendText(
  request: IncomingMessage,
  response: ServerResponse,
  { status, type = TEXT, headers = {}, body = '' }: TextAnswer,
): void {
  const sized = { 'Content-Type': type, 'Content-Length': String(Buffer.byteLength(body)), ...headers };
  send(request, response, { status, headers: sized, body });
}

export function sendJson(
  request: IncomingMessage,
  response: ServerResponse,
  { status, json }: { readonly status: number; readonly json: object },
): void {
  const type = 'application/json; charset=utf-8';
  sendText(request, response, { status, type, body: JSON.stringify(json) });
}

/** The last handler of the page. A person who opens the page reads text. */
export function answerError(
  request: IncomingMessage,
  response: ServerResponse,
  { error, logFor }: { readonly error: unknown; readonly logFor: (request: IncomingMessage) => Logger },
): void {
  const { status, ...json } = answerTo(error);
  // Each of the others was logged where it happened.
  if (status === 500 && !(error instanceof HttpError))
    writeLog(logFor(request), 'error', { error: describeError(error) }, 'the dead-letter page failed');
  if (request.headers['sec-fetch-mode'] === 'navigate' || wantsHtml(request))
    sendText(request, response, { status, body: `${json.message}\n` });
  else sendJson(request, response, { status, json });
}

/** Browsers name it first when somebody opens an address; scripts and programs do not. */
function wantsHtml({ headers }: IncomingMessage): boolean {
  return headers.accept?.startsWith('text/html') ?? false;
}

/** Never what a store or a handler said. */
export function answerTo(error: unknown): ErrorAnswer {
  if (error instanceof HttpError) return withCode(error.status, error.message);
  if (ConfigurationError.is(error)) return withCode(422, error.message);
  if (StoreError.is(error))
    return withCode(503, 'The store of dead letters did not answer. The log says why. Try again.');
  return withCode(500, 'The page failed. The log says why.');
}

function withCode(status: number, message: string): ErrorAnswer {
  return { status, message, code: CODES.get(status) ?? 'FAILED' };
}
