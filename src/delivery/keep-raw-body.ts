// For apps whose body parser runs first: lets the parser keep the bytes that the signature is over.
import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * The `verify` hook of a body parser. It keeps the raw bytes as `req.rawBody`, which the receiver takes when the
 * stream was read before.
 *
 * @example
 * app.use(express.json({ verify: keepRawBody }));
 * app.post('/hooks', receiver());
 */
export function keepRawBody(req: IncomingMessage, _res: ServerResponse, bytes: Buffer): void {
  (req as IncomingMessage & { rawBody?: Buffer }).rawBody = bytes;
}
