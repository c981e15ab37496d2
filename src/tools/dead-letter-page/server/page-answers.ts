// Sends the answers of the page: text, JSON, and errors without internal details.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ConfigurationError, StoreError } from '../../../errors.js';
import { describeError, type Logger, writeLog } from '../../../logger.js';
import { type Answer, send } from '../../../receiver/respond.js';
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

interface TextAnswer extends Partial<Answer> {
  readonly status: number;
  readonly type?: string;
}

/** Sends the answer, unless the client disconnected or other code, such as a timeout, has answered. Never throws. */
export function sendText(
  request: IncomingMessage,
  response: ServerResponse,
  { status, type = 'text/plain; charset=utf-8', headers = {}, body = '' }: TextAnswer,
): void {
  const sized = { 'Content-Type': type, 'Content-Length': String(Buffer.byteLength(body)), ...headers };
  send(request, response, { status, headers: sized, body });
}

export function sendJson(
  request: IncomingMessage,
  response: ServerResponse,
  json: object,
  status = 200,
): void {
  const type = 'application/json; charset=utf-8';
  sendText(request, response, { status, type, body: JSON.stringify(json) });
}

/** The error handler of the page. Browser navigations get plain text. */
export function answerError(
  request: IncomingMessage,
  response: ServerResponse,
  { error, logFor }: { readonly error: unknown; readonly logFor: (request: IncomingMessage) => Logger },
): void {
  const { status, ...json } = answerTo(error);
  // The others are logged where they occur.
  if (status === 500 && !(error instanceof HttpError))
    writeLog(logFor(request), 'error', { error: describeError(error) }, 'the dead-letter page failed');
  const { accept, 'sec-fetch-mode': mode } = request.headers;
  // Browsers list HTML first when they open a URL; scripts do not.
  if (mode === 'navigate' || accept?.startsWith('text/html'))
    sendText(request, response, { status, body: `${json.message}\n` });
  else sendJson(request, response, json, status);
}

/** Never exposes a message of a store or a handler. */
export function answerTo(error: unknown) {
  if (error instanceof HttpError) return withCode(error.status, error.message);
  if (ConfigurationError.is(error)) return withCode(422, error.message);
  if (StoreError.is(error))
    return withCode(503, 'The dead-letter store did not answer. Check the log, and try again.');
  return withCode(500, 'The page failed. Check the log.');
}

function withCode(status: number, message: string) {
  return { status, message, code: CODES.get(status) ?? 'FAILED' };
}
