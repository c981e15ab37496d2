// One log line for each delivery: what it was, and what became of it.
import { type Delivery, namesOf, type Result } from './delivery.js';
import { type ErrorCode, FAULTS, Fault } from './errors.js';
import { type LogLevel, silentLogger, Throttle, writeLog } from './logger.js';

const LEVELS = {
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
  IN_PROGRESS: 'info',
  CLAIM_LOST: 'error',
  STORE_UNAVAILABLE: 'error',
  KEY_UNAVAILABLE: 'error',
  OVERLOADED: 'warn',
  CLOSING: 'info',
  CONFIGURATION_INVALID: 'error',
} as const satisfies Record<ErrorCode, LogLevel>;

/** Names that were warned of are remembered up to this many; a service adds few. */
const MOST_NAMES = 1_000;

export class DeliveryLog {
  readonly #throttle = new Throttle();
  readonly #warned = new Set<string>();

  /**
   * Writes the line. Those that a stranger can cause come at most once in 10 s for each reason, with a count.
   *
   * @param status what was answered; a job of a queue is answered nothing
   */
  settled(delivery: Delivery, result: Result, status?: number): void {
    const fault = result instanceof Fault ? result : undefined;
    // Nobody would read the line, so it is not made.
    if (delivery.logger === silentLogger) return;
    const suppressed = fault && causedByStranger(fault, delivery) ? this.#throttle.admit(fault.code) : 0;
    if (suppressed === undefined) return;
    const fields = lineOf(delivery, result, status);
    if (suppressed > 0) fields.suppressed = suppressed;
    writeLog(delivery.logger, fault ? LEVELS[fault.code] : 'info', fields, 'delivery');
    if (delivery.decoded?.keysDropped) this.#keysDropped(delivery);
    if (result === 'ignored' && delivery.decoded?.status === 'unknown') this.#undeclaredIgnored(delivery);
  }

  #keysDropped(delivery: Delivery): void {
    writeLog(delivery.log, 'warn', {}, 'keys that could replace a prototype were dropped from the event');
  }

  answeredElsewhere(delivery: Delivery): void {
    writeLog(
      delivery.log,
      'error',
      {},
      'somebody else had answered this request already; nothing was written',
    );
  }

  /** Handlers that went on after their delivery was answered. */
  late(delivery: Delivery, result: Result): void {
    const fault = result instanceof Fault ? result : undefined;
    const fields = fault ? { code: fault.code } : { outcome: result };
    writeLog(delivery.log, fault ? 'error' : 'info', fields, 'handlers settled after the answer');
  }

  /** Once for each name: the service may add names any day. */
  #undeclaredIgnored(delivery: Delivery): void {
    const name = delivery.event?.event_name;
    if (name === undefined || this.#warned.has(name) || this.#warned.size >= MOST_NAMES) return;
    this.#warned.add(name);
    const cure = 'declare it under the option events, or use onUnknown()';
    writeLog(delivery.log, 'warn', {}, `an event of an undeclared name was ignored: ${cure}`);
  }
}

/** Without a key index the signature has not been found right; with one, a leaked sandbox key may be at work. */
function causedByStranger(fault: Fault, delivery: Delivery): boolean {
  return delivery.keyIndex === undefined || FAULTS[fault.code].status === 401;
}

/** Assigned one by one: spreading an object for each field that may be absent took a tenth of a delivery. */
function lineOf(delivery: Delivery, result: Result, status?: number): Record<string, unknown> {
  const { event } = delivery;
  const line: Record<string, unknown> = {};
  if (result instanceof Fault) line.code = result.code;
  else line.outcome = result;
  if (status !== undefined) line.status = status;
  if (event) {
    Object.assign(line, namesOf(event));
    line.sandbox = event.sandbox;
  }
  if (delivery.attempt !== undefined) line.attempt = delivery.attempt;
  if (delivery.keyIndex !== undefined) line.keyIndex = delivery.keyIndex;
  line.bytes = delivery.rawBody.length;
  line.ms = Math.round((performance.now() - delivery.startedAt) * 10) / 10;
  if (result instanceof Fault && result.hint) line.hint = result.hint;
  if (result instanceof Fault && result.issues) line.issues = result.issues;
  return line;
}
