// Reads requests to the page, and sends its answers: text, JSON, and errors without internal details.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { TextDecoder } from 'node:util';
import { type DeadLetterFilter, FILTERS } from '../../../dead-letters/dead-letter-filter.js';
import { ConfigurationError, StoreError } from '../../../errors.js';
import { readBody } from '../../../http/read-body.js';
import { type Answer, send } from '../../../http/send-answer.js';
import { describeError, type Logger, writeLog } from '../../../logger.js';
import { refuseUnknownOptions } from '../../../misuse.js';
import { HttpError } from '../../web/http-error.js';

export type Fields = { readonly [name: string]: unknown };

/** A body parser may have set `body`. */
type Parsed = IncomingMessage & { readonly body?: unknown };

const LIMIT = 16_384;
const TIMEOUT_MS = 10_000;

const JSON_TYPE = /^application\/json *(?:;|$)/i;
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** The path relative to the page. A proxy may have sent an absolute URL. */
export function pathOf({ url = '' }: IncomingMessage): string {
  return url.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/)[0] || '/';
}

/** @throws {HttpError} for a body that is missing, too large, or not a JSON object */
export async function requestBody(request: IncomingMessage): Promise<Fields> {
  const { headers } = request;
  // Forms and cross-origin scripts cannot send this type without a CORS preflight.
  if (!JSON_TYPE.test(headers['content-type'] ?? ''))
    throw new HttpError(415, 'Send this request with Content-Type: application/json.');
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new HttpError(415, 'Send the body without a Content-Encoding.');
  // No filters means every letter, so a lost body must not count as one without filters.
  if (headers['transfer-encoding'] === undefined && !(Number(headers['content-length']) > 0))
    throw new HttpError(400, 'The body is empty. Send a JSON object: {}.');
  const fields = request.readableEnded ? parsedBefore(request) : parse(await bytesOf(request));
  if (typeof fields === 'object' && fields !== null && !Array.isArray(fields)) return fields as Fields;
  throw new HttpError(400, 'The body is not a JSON object.');
}

/** What a body parser left. Before Express 5, one that skips a body leaves `{}`, but then the body is still unread. */
function parsedBefore({ body }: Parsed): unknown {
  if (body === undefined)
    throw new HttpError(
      500,
      'The body was read before the page and not kept. Mount the page before the middleware that reads it.',
    );
  return Buffer.isBuffer(body) || typeof body === 'string' ? parse(Buffer.from(body)) : body;
}

/** A body parser turns an empty chunked body into `{}` too. @throws {HttpError} 400 */
export function rejectEmptyBody({ headers, body }: Parsed, fields: Fields): void {
  const mayBeEmpty = body !== undefined && headers['content-length'] === undefined;
  if (!mayBeEmpty || Object.keys(fields).length > 0) return;
  throw new HttpError(
    400,
    'The body may have been empty: it was chunked, and read by a body parser. To select every letter, send {"event":"*"}.',
  );
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(UTF8.decode(bytes));
  } catch {
    throw new HttpError(400, 'The body is not valid JSON in UTF-8.');
  }
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const given = request.headers['content-length'];
  const length = given === undefined ? undefined : Number(given);
  const rules = { length, limit: LIMIT, timeout: TIMEOUT_MS };
  const body = Number(given) > LIMIT ? 'too large' : await readBody(request, rules);
  if (typeof body !== 'string') return body;
  if (body === 'too large') throw new HttpError(413, 'The body is larger than 16 KB.');
  if (body === 'timeout') throw new HttpError(400, 'The body did not arrive within 10 seconds.');
  if (body === 'not loaded') throw new Error('raw-body could not be loaded.');
  throw new HttpError(400, 'The body is incomplete, or longer than its Content-Length.');
}

/**
 * The fields of a request that have a value. Values are validated where they are used.
 *
 * @param others the names of allowed fields that are not filters
 * @throws {ConfigurationError} for an unknown name: a filter that is ignored would select more letters
 */
export function givenFields(fields: Fields, others: readonly string[]): DeadLetterFilter & Fields {
  refuseUnknownOptions(fields, [...FILTERS, ...others]);
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, asDate(name, value)]));
}

/** Ignores empty values: they come from form fields that were left blank. */
export function queryFields(query: URLSearchParams, others: readonly string[]): DeadLetterFilter & Fields {
  const fields = new Map<string, unknown>();
  for (const [name, value] of query) {
    if (fields.has(name)) throw new HttpError(422, `${JSON.stringify(name.slice(0, 40))} is given twice.`);
    fields.set(name, value === '' ? undefined : value);
  }
  const { discarded } = Object.fromEntries(fields);
  if (discarded === 'true' || discarded === 'false') fields.set('discarded', discarded === 'true');
  return givenFields(Object.fromEntries(fields), others);
}

/** Parses a date, because JSON has none. A duration never looks like one. */
function asDate(name: string, value: unknown): unknown {
  if (name !== 'since' || typeof value !== 'string' || !/^\d{4}-\d\d-\d\d/.test(value)) return value;
  const date = new Date(value);
  if (Number.isNaN(date.getTime()))
    throw new ConfigurationError(
      `since is ${JSON.stringify(value.slice(0, 40))}. Pass "7d", or a date such as "2026-01-31T12:00:00Z".`,
    );
  return date;
}

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

export function sendJson(request: IncomingMessage, response: ServerResponse, json: object, status = 200) {
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
