// Reads a request to the page: its path, the filters of its query, and the JSON that it carries, whatever body parsers ran before.
import type { IncomingMessage } from 'node:http';
import { type DeadLetterFilter, FILTERS } from '../../../dead-letters/dead-letter-filter.js';
import { ConfigurationError, refuseUnknownOptions } from '../../../errors.js';
import { type BodyFailure, readBody } from '../../../receiver/capture-body.js';
import { HttpError } from '../../pages/http-error.js';

export type Fields = { readonly [name: string]: unknown };

const LIMIT = 16_384;
const TIMEOUT_MS = 10_000;

const JSON_TYPE = /^application\/json *(?:;|$)/i;
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** The path below that of the page. A proxy may have sent an absolute URL. */
export function pathOf({ url = '' }: IncomingMessage): string {
  return url.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/)[0] || '/';
}

function bodyOf(request: IncomingMessage): unknown {
  return (request as { readonly body?: unknown }).body;
}

/** @throws {HttpError} for a body that is missing, too large, or no JSON object */
export async function requestBody(request: IncomingMessage): Promise<Fields> {
  const { headers } = request;
  // A form, or a script of another origin, cannot send this type unasked.
  if (!JSON_TYPE.test(headers['content-type'] ?? ''))
    throw new HttpError(415, 'Send this request with Content-Type: application/json.');
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new HttpError(415, 'Send the body without a Content-Encoding.');
  // Without filters every letter is meant, so an empty body must not pass for one without filters.
  if (headers['transfer-encoding'] === undefined && !(Number(headers['content-length']) > 0))
    throw new HttpError(400, 'The body is empty. Send a JSON object: {}.');
  const fields = request.readableEnded ? parsedBefore(request) : parse(await bytesOf(request));
  if (typeof fields === 'object' && fields !== null && !Array.isArray(fields)) return fields as Fields;
  throw new HttpError(400, 'The body is not a JSON object.');
}

/** What a body parser left. Before Express 5 one that did not parse leaves `{}`, but then the body is still to be read. */
function parsedBefore(request: IncomingMessage): unknown {
  const body = bodyOf(request);
  if (body === undefined)
    throw new HttpError(
      500,
      'The body was read before the page, and not kept. Mount the page before what reads it.',
    );
  return Buffer.isBuffer(body) || typeof body === 'string' ? parse(Buffer.from(body)) : body;
}

/** An empty body in chunks is `{}` too, once a body parser has read it. @throws {HttpError} 400 */
export function refusePerhapsEmpty(request: IncomingMessage, fields: Fields): void {
  if (Object.keys(fields).length > 0 || request.headers['content-length'] !== undefined) return;
  if (bodyOf(request) === undefined) return;
  throw new HttpError(
    400,
    'The body may have been empty: it came in chunks, through a body parser. To mean every letter send {"event":"*"}.',
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
  if (length !== undefined && length > LIMIT) throw refusal('too large');
  const rules = { length, limit: LIMIT, timeout: TIMEOUT_MS };
  const body = await readBody(request, rules);
  if (typeof body === 'string') throw refusal(body);
  return body;
}

function refusal(failure: BodyFailure): HttpError {
  if (failure === 'too large') return new HttpError(413, 'The body is larger than 16 KB.');
  if (failure === 'timeout') return new HttpError(400, 'The body did not arrive within 10 seconds.');
  return new HttpError(400, 'The body did not arrive as it was announced.');
}

/** What a request asks for: the filters, and what else it may have. */
export interface Asked {
  readonly filter: DeadLetterFilter;
  readonly rest: Fields;
}

/**
 * @param others what may be given too
 * @throws {ConfigurationError} for an unknown name: without that filter more letters would be meant
 */
export function asked(fields: Fields, others: readonly string[]): Asked {
  refuseUnknownOptions(fields, [...FILTERS, ...others]);
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  const isFilter = ([name]: [string, unknown]) => FILTERS.includes(name) || name === 'discarded';
  const filter = Object.fromEntries(
    entries.filter(isFilter).map(([name, value]) => [name, asDate(name, value)]),
  );
  // What the values are is checked where they are used.
  return { filter, rest: Object.fromEntries(entries.filter((entry) => !isFilter(entry))) };
}

/** Empty values are those of a form that was not filled in. */
export function askedInQuery(query: URLSearchParams, others: readonly string[]): Asked {
  const fields = new Map<string, unknown>();
  for (const [name, value] of query) {
    if (fields.has(name)) throw new HttpError(422, `${JSON.stringify(name.slice(0, 40))} is given twice.`);
    fields.set(name, value === '' ? undefined : value);
  }
  const { discarded } = Object.fromEntries(fields);
  if (discarded === 'true' || discarded === 'false') fields.set('discarded', discarded === 'true');
  return asked(Object.fromEntries(fields), others);
}

/** JSON has no dates. A duration never begins like one. */
function asDate(name: string, value: unknown): unknown {
  if (name !== 'since' || typeof value !== 'string' || !/^\d{4}-\d\d-\d\d/.test(value)) return value;
  const date = new Date(value);
  if (Number.isNaN(date.getTime()))
    throw new ConfigurationError(
      `since is ${JSON.stringify(value.slice(0, 40))}. Give "7d", or a date such as "2026-01-31T12:00:00Z".`,
    );
  return date;
}
