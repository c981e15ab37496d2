// What every floor does with a delivery: the best that can be written by hand, without a framework or a promise to keep.
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

export const LIMIT = 262_144;
const REMEMBERED = 100_000;
const SIGNATURE = /^[0-9a-f]{64}$/;

// A key object, so that the key is prepared once.
const key = createSecretKey(Buffer.from(process.env.SERVICE_PRIVATE_KEY));
const handlers = new Map([['transaction.paid', async () => {}]]);

const text = z.string();
const textOrNull = text.nullable();

/** Not z.record, which walks the map: at 256 KB that takes as long as the signature several times over. */
const openMap = z.custom((value) => typeof value === 'object' && value !== null && !Array.isArray(value));

/** @param metadata the schema of the open map that customers may fill */
export const schemasWith = (metadata) =>
  new Map([['transaction.paid', z.looseObject({ ...envelope, payload: payloadWith(metadata) })]]);

const envelope = { id: text, event_name: z.literal('transaction.paid'), sandbox: z.boolean() };

const payloadWith = (metadata) =>
  z.looseObject({
    token: z.looseObject({ id: text }),
    customer: z.looseObject({
      id: text,
      city: textOrNull,
      name: textOrNull,
      email: textOrNull,
      phone: textOrNull,
      state: textOrNull,
      address: textOrNull,
      zip_code: textOrNull,
      country_code: textOrNull,
    }),
    metadata,
    transaction: z.looseObject({
      id: text,
      amount: text,
      status: z.number(),
      currency: text,
      order_id: text,
      created_at: text,
      base_amount: textOrNull,
      base_currency: textOrNull,
    }),
    payment_method: z.looseObject({
      id: z.number(),
      name: text,
      card: z.looseObject({
        id: text,
        brand: text,
        fingerprint: text,
        last_digits: text,
        country_code: text,
        is_3d_secure: z.boolean(),
      }),
    }),
  });

export const schemas = schemasWith(openMap);

/** A Set, and a ring that knows whom to forget: finding the oldest key of a Set costs more than a round trip to Redis. */
const seen = new Set();
const ring = new Array(REMEMBERED);
let position = 0;

function remember(id) {
  seen.delete(ring[position]);
  seen.add(id);
  ring[position] = id;
  position = position + 1 === REMEMBERED ? 0 : position + 1;
}

export function isAuthentic(bytes, signature) {
  if (typeof signature !== 'string' || !SIGNATURE.test(signature)) return false;
  return timingSafeEqual(createHmac('sha256', key).update(bytes).digest(), Buffer.from(signature, 'hex'));
}

/** @param known schemas by event name; without them the event is not looked at */
export async function receive(bytes, signature, known = schemas) {
  if (!isAuthentic(bytes, signature)) return UNAUTHENTICATED;
  let event;
  try {
    event = JSON.parse(bytes.toString('utf8'));
  } catch {
    return MALFORMED;
  }
  const handler = handlers.get(event?.event_name);
  if (!handler) return IGNORED;
  if (known) {
    const parsed = known.get(event.event_name).safeParse(event);
    if (!parsed.success) return INVALID;
    event = parsed.data;
  }
  if (seen.has(event.id)) return DUPLICATE;
  remember(event.id);
  try {
    await handler(event);
    return PROCESSED;
  } catch {
    seen.delete(event.id);
    return FAILED;
  }
}

export const PROCESSED = answer(200, '{"received":true,"outcome":"processed"}');
export const DUPLICATE = answer(200, '{"received":true,"outcome":"duplicate"}');
const IGNORED = answer(200, '{"received":true,"outcome":"ignored"}');
export const MALFORMED = answer(400, '{"message":"Not JSON."}');
export const UNAUTHENTICATED = answer(401, '{"message":"Unauthenticated."}');
export const INVALID = answer(422, '{"message":"Not a known event."}');
export const FAILED = answer(500, '{"message":"Failed."}');
export const UNREADABLE = answer(400, '{"message":"Unreadable body."}');

function answer(status, body) {
  return {
    status,
    body,
    headers: { 'Content-Type': 'application/json', 'Content-Length': String(body.length) },
  };
}

/** Head and body in one call each, chained: every other look at a response of Express costs time. */
export function send(res, { status, headers, body }) {
  res.writeHead(status, headers).end(body);
}
