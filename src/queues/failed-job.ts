// The error that the queue keeps of a failed job: codes, names and frames, never a message.

import { ANSWERS, type Rejection, type WebhookError } from '../errors.js';
import type { Delivery } from '../handlers/delivery.js';
import { describeError } from '../logger.js';

/** The error that a worker gets. Its `cause` is what a handler threw, and stays in the process of the worker. */
export function errorOf(rejection: Rejection, delivery: Delivery): WebhookError {
  const error = rejection.toError();
  const { at: frames = [] } = rejection.code === 'HANDLER_FAILED' ? describeError(error.cause) : {};
  error.message = `${rejection.code}: ${reasonOf(rejection, delivery, error)}`;
  error.stack = [`${error.name}: ${error.message}`, ...frames.map((frame) => `    at ${frame}`)].join('\n');
  return error;
}

function reasonOf(
  { code, hint, issues }: Rejection,
  { calls = [] }: Delivery,
  { cause }: WebhookError,
): string {
  if (issues) return issues.map(({ path, message }) => `${path}: ${message}`).join('; ');
  const failed = calls.filter(({ status }) => status === 'rejected');
  if (code !== 'HANDLER_FAILED' || failed.length === 0) return hint ?? ANSWERS[code].message;
  const { type, code: systemCode } = describeError(cause);
  return `${failed.map(({ name }) => name).join(', ')} failed with ${[type, systemCode].filter(Boolean).join(' ')}`;
}
