// Station 3: bytes -> event. Signed is not trusted: customers write some of what is in it.
import { isUtf8 } from 'node:buffer';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { parse, safeParse } from 'secure-json-parse';
import { Fault, type Issue } from '../errors.js';
import { type Decoded, type Envelope, envelope } from '../events/envelope.js';
import { markUnknown } from '../events/event.js';
import { transactionPaidPayload } from '../events/transaction.js';
import type { Configuration } from '../options.js';
import type { SigningKey } from '../signature.js';

type DecodeRules = Pick<Configuration, 'events' | 'sandbox'> & Partial<Pick<Configuration, 'deadlines'>>;

const SLOW_SCHEMA = 'The schema declared for this event took longer than storeTimeout.';
/** Most issues that are reported of one event. */
const MOST_ISSUES = 20;

/** A promise only where a schema validates asynchronously. */
export function decodeEvent(
  bytes: Buffer,
  key: Pick<SigningKey, 'sandbox'>,
  rules: DecodeRules,
): Decoded | Fault | Promise<Decoded | Fault> {
  const document = parseJson(bytes);
  if (document instanceof Fault) return document;
  const checked = envelope.safeParse(document.json);
  if (!checked.success)
    return new Fault('EVENT_INVALID', { issues: toIssues(checked.error.issues, [], true) });
  const event: Envelope = checked.data;
  // A leaked sandbox key must never mint live money.
  if (key.sandbox && !event.sandbox) {
    return new Fault('KEY_MODE_MISMATCH', { hint: 'A sandbox key signed an event that says it is live.' });
  }
  const { keysDropped } = document;
  if (rules.sandbox !== 'accept' && event.sandbox !== (rules.sandbox === 'only')) {
    return { status: 'ignored', event, keysDropped };
  }
  const schema = rules.events.get(event.event_name);
  if (!schema) return { status: 'unknown', event: markUnknown(event), keysDropped };
  const fitted = fitPayload(event, schema, rules.deadlines);
  return fitted instanceof Promise
    ? fitted.then((fit) => conclude(fit, event, keysDropped))
    : conclude(fitted, event, keysDropped);
}

interface Document {
  readonly json: unknown;
  readonly keysDropped: boolean;
}

function parseJson(bytes: Buffer): Document | Fault {
  if (bytes.length === 0) return new Fault('BODY_MALFORMED', { hint: 'The body is empty.' });
  // Lax decoding would silently change the bytes that were just proven.
  if (!isUtf8(bytes)) return new Fault('BODY_MALFORMED', { hint: 'The body is not UTF-8.' });
  const text = bytes.toString('utf8');
  const json = safeParse(text);
  // Its own message would quote the body.
  if (json === undefined) return new Fault('BODY_MALFORMED', { hint: 'The body is not JSON.' });
  if (json !== null) return { json, keysDropped: false };
  // Keys that could replace a prototype: refusing them would let a customer's metadata block its own payment, so
  // they are dropped. Or null itself, which is no event anyway.
  const clean: unknown = parse(text, { protoAction: 'remove', constructorAction: 'remove' });
  return { json: clean, keysDropped: true };
}

/** Undefined when the payload fits; the event has the schema's output then. */
type Fit = Fault | undefined;

function fitPayload(
  event: Envelope,
  schema: StandardSchemaV1,
  deadlines: Configuration['deadlines'] | undefined,
): Fit | Promise<Fit> {
  const take = (result: StandardSchemaV1.Result<unknown>): Fit => {
    if (!result.issues) {
      event.payload = result.value as object;
      return undefined;
    }
    return new Fault('EVENT_INVALID', {
      issues: toIssues(result.issues, ['payload'], schema === transactionPaidPayload),
    });
  };
  try {
    const result = schema['~standard'].validate(event.payload);
    // Not by `instanceof`: under Jest the promises of Node's own modules are of another realm.
    if (typeof (result as PromiseLike<unknown>).then !== 'function')
      return take(result as StandardSchemaV1.Result<unknown>);
    const fit = Promise.resolve(result).then(take, schemaFailed);
    return deadlines
      ? deadlines.store.race(fit, () => new Fault('HANDLER_TIMEOUT', { hint: SLOW_SCHEMA }))
      : fit;
  } catch (error) {
    return schemaFailed(error);
  }
}

function conclude(fit: Fit, event: Envelope, keysDropped: boolean): Decoded | Fault {
  if (!fit) return { status: 'declared', event, keysDropped };
  return fit.code === 'EVENT_INVALID' ? { status: 'invalid', event, keysDropped, fault: fit } : fit;
}

function schemaFailed(cause: unknown): Fault {
  return new Fault('HANDLER_FAILED', { hint: 'The schema declared for this event threw.', cause });
}

/** Paths and expectations, never values. Messages only of our own schemas: others quote what they received. */
function toIssues(
  issues: readonly StandardSchemaV1.Issue[],
  prefix: readonly string[],
  ours: boolean,
): readonly Issue[] {
  return issues.slice(0, MOST_ISSUES).map((issue) => ({
    path: [...prefix, ...(issue.path ?? []).map(segment)].join('.'),
    message: ours ? issue.message : expectation(issue),
  }));
}

/** Keys of an open map are the customer's words too, so only what looks like a field name is shown. */
function segment(part: PropertyKey | StandardSchemaV1.PathSegment): string {
  const key = String(typeof part === 'object' ? part.key : part);
  return /^(?:[a-z][a-z0-9_]{0,39}|\d{1,6})$/.test(key) ? key : '*';
}

/** zod, valibot and arktype all say what they expected in this field; it comes from the schema, not the event. */
function expectation(issue: StandardSchemaV1.Issue): string {
  const { expected } = issue as { expected?: unknown };
  return typeof expected === 'string'
    ? `expected ${expected}`.slice(0, 100)
    : 'does not fit the declared schema';
}
