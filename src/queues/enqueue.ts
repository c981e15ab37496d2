// What a handler that adds deliveries to a queue is: its type, and the checks that every queue needs.
import { ConfigurationError, refuseUnknownOptions } from '../errors.js';
import type { HandlerContext } from '../handlers/handler.js';
import { signedAs } from '../handlers/handler-context.js';
import * as check from '../options/option-checks.js';

/** A handler for `on()` and `onUnknown()`. */
export type Enqueue = (
  event: { readonly id: string; readonly event_name: string; readonly sandbox: boolean },
  context: Pick<HandlerContext, 'rawBody' | 'headers' | 'keyIndex' | 'log'>,
) => Promise<void>;

/** What makes two deliveries one job. It has no colon and is not all digits, which BullMQ would refuse. */
export function jobKeyOf({ id, sandbox }: Pick<Parameters<Enqueue>[0], 'id' | 'sandbox'>): string {
  if (typeof id !== 'string') {
    throw new ConfigurationError(
      'enqueue() was called without an event. Register it with on() or onUnknown(), not with onInvalid().',
    );
  }
  return `${sandbox ? 'sandbox' : 'live'}-${encodeURIComponent(id)}`;
}

/** What the event was signed as, which is what a worker will read: another handler may have written on the event. */
export function signedNames(...[event, context]: Parameters<Enqueue>): Parameters<Enqueue>[0] {
  // What onInvalid() gives is an error, for jobKeyOf() to refuse.
  return event instanceof Error ? event : (signedAs(context) ?? event);
}

interface EnqueueRules {
  /** The names of the options. */
  readonly known: readonly string[];
  /** What `jobOptions` are called in messages. */
  readonly jobOptions: string;
  /** Job options that would make one job of different events. */
  readonly lossy: readonly string[];
}

/** @throws {ConfigurationError} for options that are unknown or would lose events */
export function checkEnqueueOptions<Options extends { readonly jobOptions?: object | undefined }>(
  options: Options,
  rules: EnqueueRules,
): Options {
  const known: Options = check.byName('The second argument of enqueue()', options, 'options');
  refuseUnknownOptions(known, rules.known);
  const given = check.byName('jobOptions', known.jobOptions, rules.jobOptions);
  const lossy = rules.lossy.find((option) => option in given);
  if (lossy !== undefined) {
    throw new ConfigurationError(
      `jobOptions.${lossy} would make one job of different events, and lose all but the first. Remove it.`,
    );
  }
  return known;
}
