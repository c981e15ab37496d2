// How a store reaches Redis: how commands are sent, the prefix of every key, and how replies are read.
import { ConfigurationError, StoreError } from '../../errors.js';
import { show } from '../../misuse.js';
import type { SendCommand } from './scripts.js';

interface Connection {
  readonly sendCommand: SendCommand;
  readonly prefix: string;
}

/** @throws {ConfigurationError} if sendCommand is not a function, or prefix is not a string */
export function connectionOf({
  sendCommand,
  prefix = 'webhook:',
}: Partial<Record<keyof Connection, unknown>>): Connection {
  if (typeof sendCommand !== 'function') {
    throw new ConfigurationError(
      `sendCommand is ${show(sendCommand)}. Pass "(...args) => client.sendCommand(args)" for a client of redis, ` +
        'or "(...args) => client.call(...args)" for one of ioredis.',
    );
  }
  if (typeof prefix !== 'string')
    throw new ConfigurationError(`prefix is ${show(prefix)}. Pass a string, such as "webhook:".`);
  return { sendCommand: sendCommand as SendCommand, prefix };
}

/** Clients return strings, numbers, big integers or Buffers, depending on their settings. */
export function text(reply: unknown): string | undefined {
  if (typeof reply === 'string') return reply;
  if (typeof reply === 'number' || typeof reply === 'bigint') return String(reply);
  return Buffer.isBuffer(reply) ? reply.toString() : undefined;
}

export function invalidReply(): StoreError {
  return new StoreError('Redis sent an unexpected reply. sendCommand must resolve with the unchanged reply.');
}
