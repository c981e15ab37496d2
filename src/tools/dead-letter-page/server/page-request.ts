// Reads a request to the page: its path and query, and the JSON that it carries, whatever body parsers ran before.
import type { IncomingMessage } from 'node:http';
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
