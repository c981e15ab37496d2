// Writes one log line for each delivery.

import { ANSWERS, type ErrorCode, HandlerError, helpFor, Rejection } from '../errors.js';
import { describeError, type LogLevel, shorten, silentLogger, Throttle, writeLog } from '../logger.js';
import type { Delivery, Result } from './delivery.js';

/** The level of the line of each code. */
export const LEVELS = {
  SIGNATURE_MISSING: 'warn',
  SIGNATURE_MALFORMED: 'warn',
  SIGNATURE_MISMATCH: 'warn',
  KEY_MODE_MISMATCH: 'warn',
  BODY_MALFORMED: 'warn',
  BODY_TIMEOUT: 'warn',
  BODY_TOO_LARGE: 'warn',
  BODY_ENCODED: 'warn',
  BODY_CONSUMED: 'error',
  BODY_ABORTED: 'info',
  EVENT_INVALID: 'error',
  HANDLER_FAILED: 'error',
  HANDLER_TIMEOUT: 'error',
  RETRY_LATER: 'info',
  IN_PROGRESS: 'info',
  CLAIM_LOST: 'error',
  STORE_UNAVAILABLE: 'error',
  KEY_UNAVAILABLE: 'error',
  OVERLOADED: 'warn',
  CLOSING: 'info',
  CONFIGURATION_INVALID: 'error',
} as const satisfies Record<ErrorCode, LogLevel>;

const KEYS_DROPPED = '__proto__ or constructor keys were dropped from the event (prototype pollution)';
const ROUNDED = 'JavaScript has rounded a number of the event: its exact digits are in context.rawBody only';
const CONFLICT = 'an event was delivered again with other bytes than those that were processed';

/** The paths that were warned of, in this process. */
const warnedOfRounding = new Set<string>();

/** Warnings stop after this many names: a service has few. */
const MAX_NAMES = 1_000;

export class DeliveryLog {
  readonly #throttle = new Throttle();
  readonly #warned = new Set<string>();

  /**
   * Writes the line. Lines that a stranger can cause are limited to one in 10 s for each reason, with a count.
   *
   * @param status what was answered; undefined for a job of a queue
   */
  settled(delivery: Delivery, result: Result, status?: number): void {
    const rejection = result instanceof Rejection ? result : undefined;
    if (delivery.logger === silentLogger) return;
    const suppressed =
      rejection && causedByStranger(rejection, delivery) ? this.#throttle.admit(reasonOf(rejection)) : 0;
    if (suppressed === undefined) return;
    const fields = lineOf(delivery, result, status);
    if (suppressed > 0) fields.suppressed = suppressed;
    writeLog(delivery.logger, levelOf(delivery, result), fields, 'delivery');
    if (delivery.conflict) writeLog(delivery.log, 'error', {}, CONFLICT);
    if (delivery.decoded?.keysDropped) writeLog(delivery.log, 'warn', {}, KEYS_DROPPED);
    warnOfRounding(delivery);
    if (result === 'ignored' || result === 'kept') this.#unhandled(delivery, result);
  }

  /** The line of an attempt at a dead letter. */
  replayed(delivery: Delivery, result: Result): void {
    if (delivery.logger === silentLogger) return;
    writeLog(delivery.logger, levelOf(delivery, result), lineOf(delivery, result), 'replay');
    if (delivery.conflict) writeLog(delivery.log, 'error', {}, CONFLICT);
    warnOfRounding(delivery);
  }

  answeredElsewhere(delivery: Delivery): void {
    writeLog(
      delivery.log,
      'error',
      {},
      'other code had already answered this request, so the receiver wrote nothing. In Fastify call reply.hijack() before the ' +
        'receiver; in NestJS do not use @Res({ passthrough: true })',
    );
  }

  /** Node's own response never throws here: something has replaced its methods. */
  notWritten(delivery: Delivery, cause: unknown): void {
    writeLog(
      delivery.log,
      'error',
      { error: describeError(cause) },
      'the answer was not written, because res.writeHead() or res.end() threw: a middleware or an adapter has replaced it. ' +
        'Mount the receiver before it, or call receive() and send its answer yourself',
    );
  }

  /** For handlers that have settled after the answer. */
  late(delivery: Delivery, result: Result): void {
    const fields = result instanceof Rejection ? { code: result.code } : { outcome: result };
    writeLog(delivery.log, levelOf(delivery, result), fields, 'handlers settled after the answer');
  }

  /** Warns once for each name: the service may add names at any time. */
  #unhandled(delivery: Delivery, result: 'ignored' | 'kept'): void {
    const name = delivery.event?.event_name;
    const message = whyUnhandled(delivery, result);
    if (!message || name === undefined || this.#warned.has(name) || this.#warned.size >= MAX_NAMES) return;
    this.#warned.add(name);
    writeLog(delivery.log, 'warn', {}, message);
  }
}

/** Once for each field: the service numbers its records upwards, so every later event has the problem too. */
function warnOfRounding(delivery: Delivery): void {
  for (const path of delivery.decoded?.rounded ?? []) {
    if (warnedOfRounding.has(path)) continue;
    warnedOfRounding.add(path);
    const issues = [{ path, message: 'expected an integer below 2^53' }];
    writeLog(delivery.log, 'warn', { issues }, ROUNDED);
  }
}

/** A payload that does not fit is an error if it was refused or kept, and a warning if handlers have processed it. */
function levelOf({ decoded, issues, verdict }: Delivery, result: Result): LogLevel {
  if (result instanceof Rejection) return result.unproven ? 'warn' : LEVELS[result.code];
  if (verdict) return result === 'kept' ? 'warn' : 'error';
  if (result === 'kept' && decoded?.rejection) return LEVELS[decoded.rejection.code];
  return result === 'processed' && issues ? 'warn' : 'info';
}

/** Why no handler ran; undefined if that is intended. */
function whyUnhandled({ decoded, verdict }: Delivery, result: 'ignored' | 'kept'): string | undefined {
  if (verdict) return undefined;
  switch (decoded?.status) {
    case 'unknown':
      return result === 'kept'
        ? 'an event that is not declared was kept as a dead letter: declare it in the option events, and replay it'
        : 'an event that is not declared was ignored: declare it in the option events, or register onUnknown()';
    case 'declared':
      return `an event was acknowledged, but nothing handles it: register a handler with hooks.on('${shorten(decoded.event.event_name)}', …)`;
    default:
      return undefined;
  }
}

/** A hint, because a 200 for an event that no handler has processed is easily overlooked. */
function whyIgnored({ decoded, verdict }: Delivery): string | undefined {
  if (verdict)
    return 'A handler threw NonRetriableError, and nothing keeps the event. To keep such events, use the option deadLetters.';
  if (decoded?.status === 'ignored') return 'The option sandbox says to ignore it.';
  if (decoded?.status !== 'declared') return undefined;
  const name = shorten(decoded.event.event_name);
  return `No handler is registered for it. Register one: hooks.on('${name}', async (event) => { … }).`;
}

/** The hint, and the command that explains the code. */
function hintOf({ code, hint }: Rejection): string {
  const more = `Run \`${helpFor(code)}\`.`;
  return hint ? `${hint} ${more}` : more;
}

const UNKEPT =
  'Only the service keeps this event, until it stops retrying. To keep such events, use the option deadLetters.';

/** What a schema or a key function threw. Errors of handlers and stores have their own lines. */
function undescribed({ code, cause }: Rejection): unknown {
  return code === 'STORE_UNAVAILABLE' || HandlerError.is(cause) ? undefined : cause;
}

/** The throttle key. If a code has several causes, the line of one must not suppress that of another. */
function reasonOf({ code, hint, unproven }: Rejection): string {
  if (unproven) return `${code} unproven`;
  return code === 'BODY_CONSUMED' ? `${code} ${hint}` : code;
}

/** Without a key index the signature was not verified. With one, a leaked sandbox key may have been used. */
function causedByStranger(rejection: Rejection, delivery: Delivery): boolean {
  return delivery.keyIndex === undefined || ANSWERS[rejection.code].status === 401;
}

/** Fields are assigned one by one: spreading an object for each took a tenth of the time of a delivery. */
function lineOf(delivery: Delivery, result: Result, status?: number): Record<string, unknown> {
  const { event } = delivery;
  const line: Record<string, unknown> = {};
  if (result instanceof Rejection) line.code = result.code;
  else line.outcome = result;
  if (status !== undefined) line.status = status;
  if (event) {
    line.eventId = shorten(event.id);
    line.eventName = shorten(event.event_name);
    line.sandbox = event.sandbox;
  }
  if (delivery.attempt !== undefined) line.attempt = delivery.attempt;
  if (delivery.verdict) line.verdict = delivery.verdict.verdict;
  if (delivery.letter?.reason) line.deadLetter = delivery.letter.reason;
  if (delivery.keyIndex !== undefined) line.keyIndex = delivery.keyIndex;
  line.bytes = delivery.length;
  line.ms = Math.round((performance.now() - delivery.startedAt) * 10) / 10;
  const hint = result instanceof Rejection ? hintOf(result) : result === 'ignored' && whyIgnored(delivery);
  // Not for a job, which its broker keeps.
  const lost = hint && line.code === 'HANDLER_FAILED' && status !== undefined && !delivery.letter;
  if (hint) line.hint = lost ? `${hint} ${UNKEPT}` : hint;
  const cause = result instanceof Rejection ? undescribed(result) : undefined;
  if (cause !== undefined) line.error = describeError(cause);
  const issues = delivery.issuesFor(result);
  if (issues) line.issues = issues;
  return line;
}
