// How a store reaches Redis: how commands are sent, the prefix of every key, and how replies are read.
import { ConfigurationError, StoreError } from '../../errors.js';
import { show } from '../../misuse.js';
import { option } from '../../options/define-options.js';
import type { SendCommand } from './scripts.js';

/** The options of everything that is in Redis. */
export const CONNECTION_RULES = {
  sendCommand: option(undefined, (value): SendCommand => {
    if (typeof value === 'function') return value as SendCommand;
    throw new ConfigurationError(
      `sendCommand is ${show(value)}. Pass "(...args) => client.sendCommand(args)" for a client of redis, ` +
        'or "(...args) => client.call(...args)" for one of ioredis.',
    );
  }),
  prefix: option('webhook:', (value) => {
    if (typeof value === 'string') return value;
    throw new ConfigurationError(`prefix is ${show(value)}. Pass a string, such as "webhook:".`);
  }),
};

/** Before unknown names are refused: who leaves it out has often passed the client itself. */
export function withSendCommand<Options extends { readonly sendCommand: unknown }>(
  options: Options,
): Options {
  CONNECTION_RULES.sendCommand.check((options as Options | null | undefined)?.sendCommand, 'sendCommand');
  return options;
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
