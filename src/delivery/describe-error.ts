// What may be logged of an error: its kind, its code and where it was thrown. Its message may quote a customer.

import { WebhookError } from '../errors.js';

const SYSTEM_OR_SQL = /^(?:E[A-Z0-9]{2,14}|[0-9][0-9A-Z]{4})$/;

/** What is logged of something that a handler, a store or an observer threw. */
export interface ErrorDescription {
  readonly type: string;
  /** A system or SQL code, or one of this package. */
  readonly code?: string;
  /** `file:line:column` of the innermost frames. */
  readonly at?: string[];
}

/**
 * The kind of error, its code, and where it came from. Its message may quote a customer, so it is left out. Getters of
 * the error may throw.
 */
export function describeError(error: unknown): ErrorDescription {
  try {
    if (!(error instanceof Error)) return { type: error === null ? 'null' : typeof error };
    const type = /^[A-Za-z_$][\w$]{0,63}$/.exec(error.constructor.name)?.[0] ?? 'Error';
    const given = String((error as { code?: unknown }).code);
    const code = WebhookError.is(error) ? given : SYSTEM_OR_SQL.exec(given)?.[0];
    const at = describeFrames(error);
    return { type, ...(code && { code }), ...(at && { at }) };
  } catch {
    return { type: 'unreadable' };
  }
}

const LONGEST_MESSAGE = 1_000;
const LONGEST_STACK = 4_000;

const HIDDEN =
  'Its message is not logged, because it may quote a customer. To see it, set NODE_ENV=development, or catch and log it in the handler.';

/** The fields of a log line. While an app is developed or tested, its own words help more than they harm. */
export function handlerErrorFields(error: unknown): {
  error: ErrorDescription & { message?: string; stack?: string };
  hint?: string;
} {
  const description = describeError(error);
  const { NODE_ENV } = process.env;
  if (NODE_ENV !== 'development' && NODE_ENV !== 'test') return { error: description, hint: HIDDEN };
  try {
    const { message, stack } = error as Error;
    return {
      error: {
        ...description,
        ...(typeof message === 'string' && { message: message.slice(0, LONGEST_MESSAGE) }),
        ...(typeof stack === 'string' && { stack: stack.slice(0, LONGEST_STACK) }),
      },
    };
  } catch {
    return { error: description };
  }
}

// Only what is a path or a URL: a stack is text that anybody may set, and might quote a customer too.
const FRAME = /^\s{4}at (?:.{1,100} \(|async )?((?:file:\/|node:|\/|[A-Za-z]:[\\/]).{1,300}?:\d+:\d+)\)?$/;
const MOST = 5;

/** `file:line:column` of the innermost frames, or undefined when message and frames cannot be told apart. */
function describeFrames(error: Error): string[] | undefined {
  const { stack, message } = error;
  if (typeof stack !== 'string' || typeof message !== 'string') return undefined;
  // V8 writes "Name: message" and then the frames. A message may itself look like a frame, so cut it away.
  const end = stack.indexOf(message);
  if (end === -1 || end > 200) return undefined;
  const frames: string[] = [];
  for (const line of stack
    .slice(end + message.length)
    .split('\n')
    .slice(1)) {
    const frame = FRAME.exec(line)?.[1];
    if (frame === undefined || frames.length === MOST) break;
    frames.push(frame);
  }
  return frames.length > 0 ? frames : undefined;
}
