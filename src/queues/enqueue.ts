// Handlers that add deliveries to a queue of any broker, and the checks that all queues share.
import { createHash } from 'node:crypto';
import { types } from 'node:util';
import { ConfigurationError } from '../errors.js';
import type { HandlerContext } from '../handlers/handler.js';
import { signedAs } from '../handlers/handler-context.js';
import { type Logger, writeLog } from '../logger.js';
import { refuseUnknownOptions, show } from '../misuse.js';
import { plainObject } from '../options/define-options.js';
import { pack, type QueuedDelivery } from './queued-delivery.js';

/** A handler for `on()` and `onUnknown()`. */
export type Enqueue = (
  event: { readonly id: string; readonly event_name: string; readonly sandbox: boolean },
  context: Pick<HandlerContext, 'rawBody' | 'headers' | 'keyIndex' | 'log'>,
) => Promise<void>;

/** A job to add to a queue. It can be sent as JSON. */
export interface Job {
  /** The same for every delivery of an event, for brokers that deduplicate. At most 255 characters, all of them ASCII. */
  readonly id: string;
  /** The name of the event. */
  readonly name: string;
  readonly data: QueuedDelivery;
}

/** Adds a job to a queue. It must resolve only after the broker has stored the job. */
export type SendJob = (job: Job, context: Parameters<Enqueue>[1]) => unknown;

/**
 * Creates a handler that adds deliveries to a queue, through the client of any broker. It resolves when `send` does.
 *
 * @throws {ConfigurationError} if send is not a function
 * @example
 * hooks.on('*', enqueue(async (job) => {
 *   channel.sendToQueue('webhooks', Buffer.from(JSON.stringify(job)), { persistent: true, messageId: job.id });
 *   await channel.waitForConfirms();
 * }));
 */
export function enqueue(send: SendJob): Enqueue {
  if (typeof send !== 'function') {
    throw new ConfigurationError(
      `enqueue() was given ${show(send)}. Pass a function that adds a job to your queue: enqueue(async (job) => …).`,
    );
  }
  return async function enqueue(event, context) {
    // The signed id and name, which the worker will read: another handler may have changed the event.
    // jobKeyOf() refuses the error that onInvalid() passes.
    const signed = types.isNativeError(event) ? event : (signedAs(context) ?? event);
    await send({ id: jobKeyOf(signed), name: signed.event_name, data: pack(context) }, context);
  };
}

/** The longest message id of AMQP, as of RabbitMQ. */
const MAX_KEY = 255;

/** Equal for deliveries of one event. It has no colon and is not a number, which BullMQ would refuse. */
export function jobKeyOf({ id, sandbox }: Pick<Parameters<Enqueue>[0], 'id' | 'sandbox'>): string {
  if (typeof id !== 'string') {
    throw new ConfigurationError(
      'enqueue() was called without an event. Register it with on() or onUnknown(), not with onInvalid().',
    );
  }
  const mode = sandbox ? 'sandbox' : 'live';
  const key = `${mode}-${encodeURIComponent(id)}`;
  if (key.length <= MAX_KEY) return key;
  // No id is encoded with an equals sign, so no other event has this key.
  return `${mode}-sha256=${createHash('sha256').update(id).digest('hex')}`;
}

const OTHER_BODY =
  'the queue has a job for this event id with another body, and keeps that one; events of several accounts need a queue for each account';

/** Like a conflict in a store: the service may have serialized its retry differently. @param found the data of the job */
export function logOtherBody(found: unknown, { rawBody }: QueuedDelivery, log: Logger): void {
  if ((found as Partial<QueuedDelivery> | null | undefined)?.rawBody === rawBody) return;
  writeLog(log, 'error', {}, OTHER_BODY);
}

interface EnqueueRules {
  /** The names of the options. */
  readonly known: readonly string[];
  /** The name of `jobOptions` in messages. */
  readonly jobOptions: string;
  /** Job options that would merge different events into one job. */
  readonly lossy: readonly string[];
}

/** @throws {ConfigurationError} for options that are unknown or would lose events */
export function checkEnqueueOptions<Options extends { readonly jobOptions?: object | undefined }>(
  options: Options,
  rules: EnqueueRules,
): Options {
  const known: Options = plainObject(options, 'The second argument of enqueue()', 'options');
  refuseUnknownOptions(known, rules.known);
  const given = plainObject(known.jobOptions, 'jobOptions', rules.jobOptions);
  const lossy = rules.lossy.find((option) => option in given);
  if (lossy !== undefined) {
    throw new ConfigurationError(
      `jobOptions.${lossy} would merge different events into one job, and lose all but the first. Remove it.`,
    );
  }
  return known;
}
