// What a failed job says of itself. BullMQ keeps it in Redis: codes, names and places, never what a handler said.
import type { Delivery } from '../delivery.js';
import {
  BodyError,
  ConfigurationError,
  EventError,
  FAULTS,
  type Fault,
  HandlerError,
  StoreError,
  WebhookError,
} from '../errors.js';
import { describeError } from '../logger.js';

/** The error that a worker is given; its `cause` is what a handler threw, which stays in the worker's process. */
export function errorOf(fault: Fault, delivery: Delivery): WebhookError {
  const error = kindOf(fault);
  const { at = [] } = fault.code === 'HANDLER_FAILED' ? describeError(error.cause) : {};
  error.message = `${fault.code}: ${reasonOf(fault, delivery, error)}`;
  error.stack = [`${error.name}: ${error.message}`, ...at.map((place) => `    at ${place}`)].join('\n');
  return error;
}

function kindOf({ code, issues, cause }: Fault): WebhookError {
  switch (code) {
    case 'EVENT_INVALID':
      return new EventError(issues ?? []);
    case 'BODY_MALFORMED':
      return new BodyError(code);
    case 'CONFIGURATION_INVALID':
      return new ConfigurationError('');
    case 'HANDLER_FAILED':
      return HandlerError.is(cause) ? cause : new HandlerError([cause]);
    case 'STORE_UNAVAILABLE':
      return new StoreError('', { cause });
    default:
      return new WebhookError(code, undefined, { cause });
  }
}

function reasonOf({ code, hint, issues }: Fault, { handlers }: Delivery, { cause }: WebhookError): string {
  if (issues) return issues.map(({ path, message }) => `${path}: ${message}`).join('; ');
  const names = handlers.filter(({ status }) => status === 'rejected').map(({ name }) => name);
  if (names.length === 0) return hint ?? FAULTS[code].message;
  const { type, code: systemCode } = describeError(cause);
  return `${names.join(', ')} failed with ${[type, systemCode].filter(Boolean).join(' ')}`;
}
