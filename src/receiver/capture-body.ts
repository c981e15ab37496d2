// Station 1: request -> bytes, exactly as they were sent.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import getRawBody from 'raw-body';
import { collectBody, type Uncollected } from '../collect-body.js';
import { Fault } from '../errors.js';
import type { Configuration } from '../options.js';

/** A request, or what a platform without one hands over. */
export type BodySource = { readonly rawBody?: unknown; readonly body?: unknown } & Partial<IncomingMessage>;

const WRONG_LENGTH = 'The body has another length than its Content-Length.';
const TEXT = 'Something called req.setEncoding(), which turns the bytes into text.';
const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]+)/i;
const CURE =
  "Mount the receiver above the parser: app.post('/hooks', receiver()) before app.use(express.json()). " +
  'Or let the parser keep the bytes: express.json({ verify: keepRawBody }).';

/** What the headers alone rule out, before a byte of the body is read. */
export function inspectHeaders(headers: IncomingHttpHeaders, limit: number): Fault | undefined {
  const encoding = headers['content-encoding'];
  if (encoding && encoding.toLowerCase() !== 'identity') {
    return new Fault('BODY_ENCODED', {
      hint: 'The body has a Content-Encoding; the signature is over plain bytes.',
    });
  }
  const charset = CHARSET.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase();
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8' && charset !== 'us-ascii') {
    return new Fault('BODY_ENCODED', { hint: 'The Content-Type names a charset other than UTF-8.' });
  }
  return Number(headers['content-length']) > limit ? tooLarge(limit) : undefined;
}

/**
 * The bytes of the body, from whoever has them. What counts is whether the stream was read: on Express 4 a
 * parser that skipped the request still leaves `{}` in `req.body`. Each look at a request of Express costs more
 * than a microsecond on Node 20, so an unread stream is looked at once.
 */
export function captureBody(
  source: BodySource,
  headers: IncomingHttpHeaders,
  c: Pick<Configuration, 'limit' | 'deadlines'>,
): Buffer | Fault | Promise<Buffer | Fault> {
  if (source.readableDidRead === false) return readStream(source as IncomingMessage, headers, c);
  const kept = asBuffer(source.rawBody) ?? asBuffer(source.body);
  if (!kept)
    return consumed('Something read the body before the receiver and kept no bytes, such as express.json().');
  if (kept.length > c.limit) return tooLarge(c.limit);
  if (kept.length === declaredLength(headers, kept.length)) return kept;
  if (typeof (source.rawBody ?? source.body) === 'string') {
    return consumed('A parser such as express.text() changed the body when it made text of it.');
  }
  return new Fault('BODY_MALFORMED', { hint: WRONG_LENGTH });
}

function readStream(
  stream: IncomingMessage,
  headers: IncomingHttpHeaders,
  { limit, deadlines }: Pick<Configuration, 'limit' | 'deadlines'>,
): Promise<Buffer | Fault> {
  return new Promise((resolve) => {
    const settle = (result: Buffer | Fault) => {
      deadlines.body.clear(deadline);
      resolve(result);
    };
    const deadline = deadlines.body.set(() => settle(new Fault('BODY_TIMEOUT')));
    const length = declaredLength(headers, 0);
    if (length > 0 && stream.readable) {
      collectBody(stream, length, (body) => settle(typeof body === 'string' ? uncollected(body) : body));
      return;
    }
    const onClose = () => settle(new Fault('BODY_ABORTED'));
    // raw-body forgets its callback when the stream is destroyed.
    stream.on('close', onClose);
    getRawBody(stream, { limit, length: headers['content-length'] ?? null }, (error, bytes) => {
      stream.off('close', onClose);
      settle(error ? faultOf(error, stream, limit) : bytes);
    });
  });
}

function faultOf(error: { readonly type?: string }, stream: IncomingMessage, limit: number): Buffer | Fault {
  switch (error.type) {
    case 'entity.too.large':
      return tooLarge(limit);
    case 'request.size.invalid':
      return new Fault('BODY_MALFORMED', { hint: WRONG_LENGTH });
    case 'stream.encoding.set':
      return consumed(TEXT);
    case 'stream.not.readable':
      // It ended without a single chunk: somebody read it, and there was nothing to lose.
      return stream.readableEnded ? Buffer.alloc(0) : new Fault('BODY_ABORTED');
    default:
      return new Fault('BODY_ABORTED');
  }
}

function uncollected(why: Uncollected): Fault {
  switch (why) {
    case 'aborted':
      return new Fault('BODY_ABORTED');
    case 'other length':
      return new Fault('BODY_MALFORMED', { hint: WRONG_LENGTH });
    case 'text':
      return consumed(TEXT);
  }
}

function declaredLength(headers: IncomingHttpHeaders, otherwise: number): number {
  const declared = headers['content-length'];
  return declared !== undefined && /^\d+$/.test(declared) ? Number(declared) : otherwise;
}

function asBuffer(value: unknown): Buffer | undefined {
  if (Buffer.isBuffer(value)) return value;
  if (typeof value === 'string') return Buffer.from(value);
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer) return Buffer.from(value);
  return undefined;
}

function consumed(cause: string): Fault {
  return new Fault('BODY_CONSUMED', { hint: `${cause} ${CURE}` });
}

function tooLarge(limit: number): Fault {
  return new Fault('BODY_TOO_LARGE', { hint: `The body is larger than the option limit, ${limit} bytes.` });
}
