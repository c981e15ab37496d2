// Station 5: result -> status, headers and body.
import type { Result } from '../deliveries/delivery.js';
import { ANSWERS, type ErrorCode, Rejection } from '../errors.js';
import { type Answer, jsonAnswer } from '../http/send-answer.js';
import type { Outcome } from '../observer.js';

/** The longest `Retry-After`, unless a handler asked for more. */
const MAX_RETRY_AFTER_S = 30;
/** Codes of refusals that are sent before the whole request has arrived. */
const UNFINISHED: ReadonlySet<ErrorCode> = new Set(['BODY_TIMEOUT', 'BODY_TOO_LARGE']);

const ACCEPTED: Record<Outcome, Answer> = {
  processed: jsonAnswer(200, { received: true, outcome: 'processed' }),
  duplicate: jsonAnswer(200, { received: true, outcome: 'duplicate' }),
  ignored: jsonAnswer(200, { received: true, outcome: 'ignored' }),
  kept: jsonAnswer(200, { received: true, outcome: 'kept' }),
};
/** The same for all four reasons, so that strangers learn nothing from it. */
const UNAUTHENTICATED = jsonAnswer(401, { message: ANSWERS.SIGNATURE_MISMATCH.message });

/** Never sent: the sender disconnected before its request was complete. */
const UNSENT = jsonAnswer(0, {});
/** For fetch, which needs a Response in any case. A sender that still reads it should retry. */
const LEFT = jsonAnswer(
  503,
  { message: ANSWERS.BODY_ABORTED.message, code: 'BODY_ABORTED' },
  { 'Retry-After': '1' },
);

/**
 * The answer to a result. Nothing internal is in it.
 *
 * @param closing whether to close the connection: if it stayed open, it would be reset when the server closes
 */
export function respond(result: Result, closing: boolean): Answer {
  const answer = answerTo(result);
  return closing ? { ...answer, headers: { ...answer.headers, Connection: 'close' } } : answer;
}

function answerTo(result: Result): Answer {
  if (!(result instanceof Rejection)) return ACCEPTED[result];
  const { status, message } = ANSWERS[result.code];
  if (status === 401) return UNAUTHENTICATED;
  if (result.code === 'BODY_ABORTED') return UNSENT;
  const { code, issues, retryAfterMs } = result;
  // At least 1, also for what is not a number: a key function of a user may ask for anything.
  const ms = typeof retryAfterMs === 'number' ? retryAfterMs : 1_000;
  const asked = Math.max(Math.ceil(ms / 1_000) || 1, 1);
  const seconds = code === 'RETRY_LATER' ? asked : Math.min(asked, MAX_RETRY_AFTER_S);
  return jsonAnswer(
    status,
    { message, code, ...(issues && { issues }) },
    {
      ...(status === 503 && { 'Retry-After': String(seconds) }),
      ...(UNFINISHED.has(code) && { Connection: 'close' }),
    },
  );
}

/** The answer for a server that speaks fetch. */
export function responseOf(answer: Answer): Response {
  const { status, headers, body } = answer.status === 0 ? LEFT : answer;
  return new Response(body, { status, headers });
}
