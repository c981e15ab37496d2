// Reads the replies of scripts, whichever client and settings they come through.
import { StoreError } from '../../errors.js';

/** Clients return strings, numbers, big integers or Buffers, depending on their settings. */
export function text(reply: unknown): string | undefined {
  if (typeof reply === 'string') return reply;
  if (typeof reply === 'number' || typeof reply === 'bigint') return String(reply);
  return Buffer.isBuffer(reply) ? reply.toString() : undefined;
}

export function invalidReply(): StoreError {
  return new StoreError(
    'Redis answered with what no script returns. sendCommand must resolve with the unchanged reply.',
  );
}
