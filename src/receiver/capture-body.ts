// Station 1: request -> bytes, exactly as they were sent.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import getRawBody from 'raw-body';
import { Fault } from '../errors.js';
import type { Configuration } from '../options.js';

/** A request, or what a platform without one hands over. */
export type BodySource = { readonly rawBody?: unknown; readonly body?: unknown } & Partial<IncomingMessage>;

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
 * parser that skipped the request still leaves `{}` in `req.body`.
 */
export function captureBody(
  source: BodySource,
  headers: IncomingHttpHeaders,
  c: Pick<Configuration, 'limit' | 'deadlines'>,
): Buffer | Fault | Promise<Buffer | Fault> {
  const kept = asBuffer(source.rawBody);
  if (kept) return measure(kept, headers, c.limit);
  if (!isStream(source)) return consumed('No raw body was given.');
  if (source.readableDidRead) return bodyOfParser(source, headers, c.limit);
  // It ended without a single chunk: somebody read it, and there was nothing to lose.
  if (source.readableEnded) return measure(Buffer.alloc(0), headers, c.limit);
  if (source.destroyed) return new Fault('BODY_ABORTED');
  return readStream(source, headers, c);
}

function readStream(
  stream: IncomingMessage,
  headers: IncomingHttpHeaders,
  { limit, deadlines }: Pick<Configuration, 'limit' | 'deadlines'>,
): Promise<Buffer | Fault> {
  return new Promise((resolve) => {
    const settle = (result: Buffer | Fault) => {
      deadlines.body.clear(deadline);
      stream.removeListener('close', onClose);
      resolve(result);
    };
    // raw-body forgets its callback when the stream is destroyed.
    const onClose = () => settle(new Fault('BODY_ABORTED'));
    const deadline = deadlines.body.set(() => settle(new Fault('BODY_TIMEOUT')));
    stream.on('close', onClose);
    getRawBody(stream, { limit, length: headers['content-length'] ?? null }, (error, bytes) => {
      settle(error ? faultOf(error, limit) : bytes);
    });
  });
}

function faultOf(error: { readonly type?: string }, limit: number): Fault {
  switch (error.type) {
    case 'entity.too.large':
      return tooLarge(limit);
    case 'request.size.invalid':
      return new Fault('BODY_MALFORMED', { hint: 'The body has another length than its Content-Length.' });
    case 'stream.encoding.set':
      return consumed('Something called req.setEncoding(), which turns the bytes into text.');
    default:
      return new Fault('BODY_ABORTED');
  }
}

/** The stream is spent: what the parser that read it left behind. */
function bodyOfParser(source: BodySource, headers: IncomingHttpHeaders, limit: number): Buffer | Fault {
  const { body } = source;
  const bytes = asBuffer(body);
  if (!bytes)
    return consumed('Something read the body before the receiver and kept no bytes, such as express.json().');
  if (typeof body === 'string' && bytes.length !== declaredLength(headers, bytes.length)) {
    return consumed('A parser such as express.text() changed the body when it made text of it.');
  }
  return measure(bytes, headers, limit);
}

function measure(bytes: Buffer, headers: IncomingHttpHeaders, limit: number): Buffer | Fault {
  if (bytes.length > limit) return tooLarge(limit);
  if (bytes.length === declaredLength(headers, bytes.length)) return bytes;
  return new Fault('BODY_MALFORMED', { hint: 'The body has another length than its Content-Length.' });
}

function declaredLength(headers: IncomingHttpHeaders, otherwise: number): number {
  const declared = headers['content-length'];
  return declared !== undefined && /^\d+$/.test(declared) ? Number(declared) : otherwise;
}

function asBuffer(value: unknown): Buffer | undefined {
  if (Buffer.isBuffer(value)) return value;
  if (typeof value === 'string') return Buffer.from(value, 'utf8');
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer) return Buffer.from(value);
  return undefined;
}

function isStream(source: BodySource): source is BodySource & IncomingMessage {
  return typeof source.on === 'function' && typeof source.pipe === 'function';
}

function consumed(cause: string): Fault {
  return new Fault('BODY_CONSUMED', { hint: `${cause} ${CURE}` });
}

function tooLarge(limit: number): Fault {
  return new Fault('BODY_TOO_LARGE', { hint: `The body is larger than the option limit, ${limit} bytes.` });
}
