// Station 1: a request, or bytes that were already read -> the bytes of the body, exactly as sent.

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { types } from 'node:util';
import { internalError, Rejection } from '../errors.js';
import { type BodyRules, readBody, readWebBody } from '../http/read-body.js';
import type { BodyFailure } from '../http/sized-body.js';
import type { Configuration } from '../options/options.js';

/** A Node request, a fetch Request, or the body that a platform has already read. */
export type BodySource = {
  readonly rawBody?: unknown;
  readonly body?: unknown;
  readonly request?: Request;
} & Partial<IncomingMessage>;

const WRONG_LENGTH = 'The length of the body differs from its Content-Length.';
const REQUEST_READ =
  'Something read the body of the Request before hooks.fetch(), and it can be read only once. Call hooks.fetch(request) ' +
  'first, read a copy (request.clone()), or pass the bytes that were read to hooks.receive({ rawBody, headers: request.headers }).';
const REQUEST_TEXT =
  'The body of the Request is a stream of something other than bytes. Pass the original Request to hooks.fetch().';
const NOT_LOADED =
  'The receiver could not load raw-body, which reads bodies of unknown length. Were files of node_modules replaced while the ' +
  'process ran? Restart it.';
const UNKNOWN_READER =
  'Something read the body before the receiver, and did not keep the bytes. In Fastify call it in an onRequest hook.';
const NEXT =
  'Next.js parsed the body before the receiver, and did not keep the bytes. Turn its parser off in the file of the route ' +
  'with export const config = { api: { bodyParser: false } }.';
const TEXT =
  'Something turned the bytes of the request into text or objects before the receiver, as req.setEncoding() does.';
const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]+)/i;

type Parser = 'express.json' | 'express.urlencoded' | 'express.text';
const FORM = 'application/x-www-form-urlencoded';
const PARSERS: readonly (readonly [RegExp, Parser])[] = [
  [/^application\/x-www-form-urlencoded\b/i, 'express.urlencoded'],
  [/^application\/(?:[\w.-]+\+)?json\b/i, 'express.json'],
];

/** Rejects what the headers alone rule out, before any of the body is read. */
export function inspectHeaders(headers: IncomingHttpHeaders, limit: number): Rejection | undefined {
  const encoding = headers['content-encoding'];
  if (encoding && encoding.toLowerCase() !== 'identity') {
    return new Rejection('BODY_ENCODED', {
      hint: 'The body has a Content-Encoding; the signature is over plain bytes.',
    });
  }
  const charset = CHARSET.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase();
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8' && charset !== 'us-ascii') {
    return new Rejection('BODY_ENCODED', { hint: 'The Content-Type names a charset other than UTF-8.' });
  }
  return Number(headers['content-length']) > limit ? tooLarge(limit) : undefined;
}

/**
 * The bytes of the body, from the stream or from what middleware kept. Whether the stream was read decides: on Express 4 a
 * parser that skipped the request still leaves `{}` in `req.body`. Every property of an Express request costs more than a
 * microsecond on Node 20, so an unread stream is checked first.
 */
export async function captureBody(
  source: BodySource,
  headers: IncomingHttpHeaders,
  { limit, bodyTimeout }: Pick<Configuration, 'limit' | 'bodyTimeout'>,
): Promise<Buffer | Rejection> {
  const rules: BodyRules = { length: announcedLength(headers), limit, timeout: bodyTimeout };
  if (source.readableDidRead === false) return readStream(source as IncomingMessage, rules);
  if (source.request) return readRequest(source.request, rules);
  const kept = asBuffer(source.rawBody) ?? asBuffer(source.body);
  if (!kept && 'previewData' in source) return new Rejection('BODY_CONSUMED', { hint: NEXT });
  if (!kept) return consumed(readBefore(source, headers), parserOf(source, headers));
  if (kept.length > limit) return tooLarge(limit);
  if (kept.length === (rules.length ?? kept.length)) return kept;
  if (typeof (source.rawBody ?? source.body) === 'string') {
    return consumed('express.text() or similar changed the body when it decoded it.', 'express.text');
  }
  return new Rejection('BODY_MALFORMED', { hint: WRONG_LENGTH });
}

async function readStream(stream: IncomingMessage, rules: BodyRules): Promise<Buffer | Rejection> {
  // It has ended without any data, so the body is empty.
  if (!stream.readable) return stream.readableEnded ? Buffer.alloc(0) : new Rejection('BODY_ABORTED');
  const body = await readBody(stream, rules);
  return typeof body === 'string' ? rejectionOf(body, rules.limit) : body;
}

async function readRequest(request: Request, rules: BodyRules): Promise<Buffer | Rejection> {
  if (request.bodyUsed || request.body?.locked) return new Rejection('BODY_CONSUMED', { hint: REQUEST_READ });
  const body = await readWebBody(request, rules);
  if (body === 'text') return new Rejection('BODY_CONSUMED', { hint: REQUEST_TEXT });
  return typeof body === 'string' ? rejectionOf(body, rules.limit) : body;
}

function rejectionOf(why: BodyFailure, limit: number): Rejection {
  switch (why) {
    case 'aborted':
      return new Rejection('BODY_ABORTED');
    case 'timeout':
      return new Rejection('BODY_TIMEOUT');
    case 'other length':
      return new Rejection('BODY_MALFORMED', { hint: WRONG_LENGTH });
    case 'text':
      return consumed(TEXT);
    case 'too large':
      return tooLarge(limit);
    case 'no memory':
      return new Rejection('OVERLOADED', { hint: 'Out of memory while reading the body.' });
    case 'not loaded':
      return internalError(NOT_LOADED, undefined);
  }
}

function announcedLength(headers: IncomingHttpHeaders): number | undefined {
  const announced = headers['content-length'];
  return announced !== undefined && /^\d+$/.test(announced) ? Number(announced) : undefined;
}

function asBuffer(value: unknown): Buffer | undefined {
  if (Buffer.isBuffer(value)) return value;
  if (typeof value === 'string') return Buffer.from(value);
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (types.isAnyArrayBuffer(value)) return Buffer.from(value);
  return undefined;
}

/** The Express parser for this content type, if it seems to have read the body. */
function parserOf({ body }: BodySource, headers: IncomingHttpHeaders): Parser | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const type = headers['content-type'] ?? '';
  return PARSERS.find(([pattern]) => pattern.test(type))?.[1];
}

function readBefore(source: BodySource, headers: IncomingHttpHeaders): string {
  const parser = parserOf(source, headers);
  if (!parser) return UNKNOWN_READER;
  const what = `${parser}() or similar read the body before the receiver, and did not keep the bytes`;
  if (parser === 'express.json') return `${what}.`;
  return `${what}, because the request says Content-Type: ${FORM}. Events are JSON: send application/json.`;
}

function consumed(cause: string, parser: Parser = 'express.json'): Rejection {
  const hint =
    `${cause} Mount the receiver above the parser: app.post('/hooks', receiver()) before app.use(${parser}()). ` +
    `Or let the parser keep the bytes: ${parser}({ limit: '256kb', verify: keepRawBody }).`;
  return new Rejection('BODY_CONSUMED', { hint });
}

function tooLarge(limit: number): Rejection {
  return new Rejection('BODY_TOO_LARGE', {
    hint: `The body is larger than the option limit, ${limit} bytes.`,
  });
}

/**
 * The `verify` hook of a body parser. It keeps the raw bytes as `req.rawBody`, for a receiver that is mounted after the
 * parser. The parser has its own `limit`, 100 kB by default, and answers larger or malformed bodies itself.
 *
 * @example
 * app.use(express.json({ limit: '256kb', verify: keepRawBody }));
 * app.post('/hooks', receiver());
 */
export function keepRawBody(req: IncomingMessage, _res: ServerResponse, bytes: Buffer): void {
  (req as IncomingMessage & { rawBody?: Buffer }).rawBody = bytes;
}
