// Station 3: bytes -> event. Signed is not trusted: customers write some of its values.

import { isUtf8 } from 'node:buffer';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { parse, safeParse } from 'secure-json-parse';
import { digestOf } from '../claims/fingerprint.js';
import { internalError, Rejection } from '../errors.js';
import { type Decoded, type Envelope, isEnvelope, isEventName, isMap } from '../events/envelope.js';
import { markUnknown } from '../events/event.js';
import { isOwnSchema, toIssues } from '../events/issues.js';
import { SCHEMAS_NOT_LOADED, withSchemas } from '../events/load-schemas.js';
import { roundedIntegers } from '../events/transaction.js';
import type { Configuration } from '../options/options.js';
import type { SigningKey } from '../signature.js';
import { withDeadline } from '../time.js';

type DecodeRules = Pick<Configuration, 'events' | 'sandbox'> &
  Partial<Pick<Configuration, 'drift' | 'storeTimeout' | 'deadLetters'>>;

/** Text without any of these has no `__proto__` or `constructor` key, however escaped, and no byte-order mark. */
const SUSPICIOUS = ['\\u', '__proto__', 'constructor', '\ufeff'];
/** The name of an event that has no usable one. */
const UNNAMED = 'invalid.envelope';
const SCHEMA_THREW = 'The schema declared for this event threw.';
const SLOW_SCHEMA = 'The schema declared for this event took longer than storeTimeout.';

/** Returns a promise only if a schema validates asynchronously, or is not loaded yet. */
export function decodeEvent(
  bytes: Buffer,
  key: Pick<SigningKey, 'sandbox'>,
  rules: DecodeRules,
): Decoded | Rejection | Promise<Decoded | Rejection> {
  const document = parseJson(bytes);
  if (document instanceof Rejection) return document;
  const { json: event, keysDropped } = document;
  if (!isEnvelope(event)) {
    const refuse = (rejection: Rejection) =>
      rules.deadLetters
        ? decodeDrifted({ bytes, json: event, keysDropped }, key, rules, rejection)
        : rejection;
    const explained = explainEnvelope(event);
    return explained instanceof Rejection ? refuse(explained) : explained.then(refuse);
  }
  // A leaked sandbox key must never mint live money.
  if (key.sandbox && !event.sandbox) return modeMismatch();
  if (rules.sandbox !== 'accept' && event.sandbox !== (rules.sandbox === 'only')) {
    return { status: 'ignored', event, keysDropped };
  }
  // Before a schema changes the payload.
  const rounded = roundedIntegers(event.payload);
  const schema = rules.events.get(event.event_name);
  if (!schema) return { status: 'unknown', event: markUnknown(event), keysDropped, rounded };
  const fitted = fitPayload(event, schema, rules.storeTimeout);
  return fitted && 'then' in fitted
    ? fitted.then((fit) => conclude(fit, { event, keysDropped, rounded }, rules))
    : conclude(fitted, { event, keysDropped, rounded }, rules);
}

/** What is wrong with JSON that is not an event. It is not one either if that cannot be said. */
function explainEnvelope(json: unknown): Rejection | Promise<Rejection> {
  const explained = withSchemas(({ envelope }) => {
    const { error } = envelope.safeParse(json);
    return new Rejection('EVENT_INVALID', { issues: toIssues(error?.issues ?? [], [], true) });
  });
  return explained instanceof Rejection
    ? explained
    : explained.catch((cause) => internalError(SCHEMAS_NOT_LOADED, cause));
}

/** For JSON that is not an event: the service signed it, so it may be a payment, and is kept. */
function decodeDrifted(
  { bytes, json, keysDropped }: Document & { readonly bytes: Buffer },
  key: Pick<SigningKey, 'sandbox'>,
  rules: DecodeRules,
  rejection: Rejection,
): Decoded | Rejection {
  const { event_name: name, sandbox } = isMap(json) ? json : {};
  if (key.sandbox && sandbox === false) return modeMismatch();
  const event: Envelope = {
    id: digestOf(bytes),
    event_name: typeof name === 'string' && isEventName(name) ? name : UNNAMED,
    // If the body does not say its mode, only the key tells.
    sandbox: sandbox === true || key.sandbox,
    payload: {},
  };
  const isModeKnown = typeof sandbox === 'boolean' || key.sandbox;
  if (isModeKnown && rules.sandbox !== 'accept' && event.sandbox !== (rules.sandbox === 'only'))
    return { status: 'ignored', event, keysDropped };
  return { status: 'drifted', event, keysDropped, rejection, issues: rejection.issues ?? [] };
}

function modeMismatch(): Rejection {
  return new Rejection('KEY_MODE_MISMATCH', {
    hint:
      'A key that starts with pri_sandbox_ signed a live event. Only someone who has that key can do this: ' +
      'find out who, and rotate it.',
  });
}

interface Document {
  readonly json: unknown;
  readonly keysDropped: boolean;
}

function parseJson(bytes: Buffer): Document | Rejection {
  if (bytes.length === 0) return new Rejection('BODY_MALFORMED', { hint: 'The body is empty.' });
  // Lax decoding would silently change the bytes that were just proven.
  if (!isUtf8(bytes)) return new Rejection('BODY_MALFORMED', { hint: 'The body is not UTF-8.' });
  const text = bytes.toString('utf8');
  const json = SUSPICIOUS.some((part) => text.includes(part)) ? safeParse(text) : parsePlain(text);
  if (json === undefined) return new Rejection('BODY_MALFORMED', { hint: 'The body is not JSON.' });
  if (json !== null) return { json, keysDropped: false };
  // The body has `__proto__` or `constructor` keys (prototype pollution), or is `null`. Refusing such keys would let a
  // customer's metadata block its own payment, so they are dropped.
  const clean: unknown = parse(text, { protoAction: 'remove', constructorAction: 'remove' });
  return { json: clean, keysDropped: clean !== null };
}

/** Undefined if it is not JSON. The error's message would quote the body. */
function parsePlain(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Undefined if the payload fits: then the event has the output of the schema. */
type Fit = Rejection | undefined;

function fitPayload(
  event: Envelope,
  schema: StandardSchemaV1,
  timeout: number | undefined,
): Fit | Promise<Fit> {
  const isOwn = isOwnSchema(schema);
  const take = (result: StandardSchemaV1.Result<unknown>): Fit => {
    if (!result.issues) {
      event.payload = result.value as object;
      return undefined;
    }
    return new Rejection('EVENT_INVALID', {
      issues: toIssues(result.issues, ['payload'], isOwn),
    });
  };
  const failed = (cause: unknown) => internalError(isOwn ? SCHEMAS_NOT_LOADED : SCHEMA_THREW, cause);
  try {
    const result = schema['~standard'].validate(event.payload);
    // Not by `instanceof`: under Jest the promises of Node's own modules are of another realm.
    if (typeof (result as PromiseLike<unknown>).then !== 'function')
      return take(result as StandardSchemaV1.Result<unknown>);
    const fit = Promise.resolve(result).then(take).catch(failed);
    return timeout && !isOwn
      ? withDeadline(fit, timeout, () => new Rejection('HANDLER_TIMEOUT', { hint: SLOW_SCHEMA }))
      : fit;
  } catch (error) {
    return failed(error);
  }
}

type Parsed = Pick<Decoded, 'event' | 'keysDropped' | 'rounded'>;

function conclude(fit: Fit, { event, keysDropped, rounded }: Parsed, { drift }: DecodeRules): Decoded {
  if (!fit) return { status: 'declared', event, keysDropped, rounded };
  const { issues } = fit;
  if (!issues) return { status: 'undecided', event, keysDropped, rounded, rejection: fit };
  return drift === 'handle'
    ? { status: 'declared', event, keysDropped, rounded, issues }
    : { status: 'invalid', event, keysDropped, rounded, issues, rejection: fit };
}
