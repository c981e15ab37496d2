// Station 1: request -> bytes, exactly as they were sent.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { BodyRules, Unread } from '../delivery/collect-body.js';
import { readBody } from '../delivery/read-body.js';
import { readWebBody } from '../delivery/read-web-body.js';
import { Rejection } from '../delivery/rejection.js';
import type { Configuration } from '../options/options.js';

/** A request of Node, one of fetch, or what a platform without one hands over. */
export type BodySource = {
  readonly rawBody?: unknown;
  readonly body?: unknown;
  readonly request?: Request;
} & Partial<IncomingMessage>;

type Limits = Pick<Configuration, 'limit' | 'bodyTimeout'>;

const RETRY_AFTER_MS = 5_000;
const WRONG_LENGTH = 'The body has another length than its Content-Length.';
const REQUEST_READ =
  'Something read the body of the Request before hooks.fetch(), and it can be read only once. Call hooks.fetch(request) ' +
  'first, read a copy (request.clone()), or give the bytes that were read to hooks.receive({ rawBody, headers: request.headers }).';
const REQUEST_TEXT =
  'The body of the Request gives something other than bytes. Give hooks.fetch() the Request as it arrived.';
const UNKNOWN_READER =
  'Something read the body before the receiver and kept no bytes. In Fastify call it in an onRequest hook.';
const TEXT = 'Something called req.setEncoding(), which turns the bytes into text.';
const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]+)/i;

type Parser = 'express.json' | 'express.urlencoded' | 'express.text';
const FORM = 'application/x-www-form-urlencoded';
const PARSERS: readonly (readonly [RegExp, Parser])[] = [
  [/^application\/x-www-form-urlencoded\b/i, 'express.urlencoded'],
  [/^application\/(?:[\w.-]+\+)?json\b/i, 'express.json'],
];

/** What the headers alone rule out, before a byte of the body is read. */
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
 * The bytes of the body, from the stream or from what was kept. What counts is whether the stream was read: on Express 4 a
 * parser that skipped the request still leaves `{}` in `req.body`. Each look at a request of Express costs more
 * than a microsecond on Node 20, so an unread stream is looked at once.
 */
export function captureBody(
  source: BodySource,
  headers: IncomingHttpHeaders,
  c: Limits,
): Buffer | Rejection | Promise<Buffer | Rejection> {
  if (source.readableDidRead === false) return readStream(source as IncomingMessage, headers, c);
  if (source.request) return readRequest(source.request, headers, c);
  const kept = asBuffer(source.rawBody) ?? asBuffer(source.body);
  if (!kept) return consumed(readBefore(source, headers), parserOf(source, headers));
  if (kept.length > c.limit) return tooLarge(c.limit);
  if (kept.length === (announcedLength(headers) ?? kept.length)) return kept;
  if (typeof (source.rawBody ?? source.body) === 'string') {
    return consumed('express.text() or the like changed the body when it made text of it.', 'express.text');
  }
  return new Rejection('BODY_MALFORMED', { hint: WRONG_LENGTH });
}

function readStream(
  stream: IncomingMessage,
  headers: IncomingHttpHeaders,
  c: Limits,
): Buffer | Rejection | Promise<Buffer | Rejection> {
  // It was read and ended without a chunk, so the body is empty.
  if (!stream.readable) return stream.readableEnded ? Buffer.alloc(0) : new Rejection('BODY_ABORTED');
  return new Promise((resolve) => {
    readBody(stream, rulesOf(headers, c), (body) =>
      resolve(typeof body === 'string' ? rejectionOf(body, c.limit) : body),
    );
  });
}

async function readRequest(
  request: Request,
  headers: IncomingHttpHeaders,
  c: Limits,
): Promise<Buffer | Rejection> {
  if (request.bodyUsed || request.body?.locked) return new Rejection('BODY_CONSUMED', { hint: REQUEST_READ });
  const body = await readWebBody(request, rulesOf(headers, c));
  if (body === 'text') return new Rejection('BODY_CONSUMED', { hint: REQUEST_TEXT });
  return typeof body === 'string' ? rejectionOf(body, c.limit) : body;
}

function rulesOf(headers: IncomingHttpHeaders, { limit, bodyTimeout }: Limits): BodyRules {
  return { length: announcedLength(headers), limit, timeout: bodyTimeout };
}

function rejectionOf(why: Unread, limit: number): Rejection {
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
      return new Rejection('OVERLOADED', {
        hint: 'There is no memory left for the body.',
        retryAfterMs: RETRY_AFTER_MS,
      });
  }
}

function announcedLength(headers: IncomingHttpHeaders): number | undefined {
  const announced = headers['content-length'];
  return announced !== undefined && /^\d+$/.test(announced) ? Number(announced) : undefined;
}

function asBuffer(value: unknown): Buffer | undefined {
  if (Buffer.isBuffer(value)) return value;
  if (typeof value === 'string') return Buffer.from(value);
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer) return Buffer.from(value);
  return undefined;
}

/** The parser of Express that reads bodies of this type, if it looks as though it has. */
function parserOf({ body }: BodySource, headers: IncomingHttpHeaders): Parser | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const type = headers['content-type'] ?? '';
  return PARSERS.find(([pattern]) => pattern.test(type))?.[1];
}

function readBefore(source: BodySource, headers: IncomingHttpHeaders): string {
  const parser = parserOf(source, headers);
  if (!parser) return UNKNOWN_READER;
  const what = `${parser}() or the like read the body before the receiver and kept no bytes`;
  if (parser === 'express.json') return `${what}.`;
  return `${what}, because the request says Content-Type: ${FORM}. Events are JSON: send application/json.`;
}

function consumed(cause: string, parser: Parser = 'express.json'): Rejection {
  const hint =
    `${cause} Mount the receiver above the parser: app.post('/hooks', receiver()) before app.use(${parser}()). ` +
    `Or let the parser keep the bytes: ${parser}({ verify: keepRawBody }).`;
  return new Rejection('BODY_CONSUMED', { hint });
}

function tooLarge(limit: number): Rejection {
  return new Rejection('BODY_TOO_LARGE', {
    hint: `The body is larger than the option limit, ${limit} bytes.`,
  });
}
