// The schemas in zod, which is loaded for the first event that the predicates refuse: they say what is wrong with it.
import * as z from 'zod';
import { isEventName, isMap } from './envelope.js';
import { ownSchema } from './issues.js';
import type { Json } from './transaction.js';

/** The same check as `isIdentifier`. */
const identifier = z.string().regex(/^[!-~]{1,255}$/, 'expected 1 to 255 printable ASCII characters');

/** The fields around every payload. */
export const envelope = z.looseObject({
  id: identifier,
  event_name: z.string().refine(isEventName, 'expected <resource>.<action> in printable ASCII'),
  sandbox: z.boolean(),
  payload: z.custom<object>(isMap, 'expected object'),
});

const integer = z.number().refine(Number.isInteger, 'expected integer');
const text = z.string().nullish();

/** PHP writes an empty map as `[]`, because its arrays are lists and maps alike. */
const listToMap = (value: unknown) => (Array.isArray(value) && value.length === 0 ? {} : value);

// An open map that JSON.parse made: its values are JSON already. Walking it would cost 575 µs at 256 KB.
const openMap = z.custom<{ [key: string]: Json }>(isMap, 'expected object');

const customer = z.looseObject({
  id: identifier.nullish(),
  city: text,
  name: text,
  email: text,
  phone: text,
  state: text,
  address: text,
  zip_code: text,
  country_code: text,
});

const card = z.looseObject({
  id: identifier.nullish(),
  brand: text,
  fingerprint: text,
  last_digits: text,
  country_code: text,
  is_3d_secure: z.boolean().nullish(),
});

const paymentMethod = z.looseObject({
  id: integer.nullish(),
  name: text,
  card: z.preprocess(listToMap, card.nullish()),
});

/**
 * Schema of the payload of `transaction.paid`. It requires what a merchant acts on, checks documented types where there is a
 * value, and keeps what it does not know. An empty list where a map is documented becomes an empty map; nothing else is
 * changed.
 */
export const transactionPaidPayload = ownSchema(
  z.looseObject({
    token: z.preprocess(listToMap, z.looseObject({ id: identifier.nullish() }).nullish()),
    customer: z.preprocess(listToMap, customer.nullish()),
    metadata: z.preprocess(listToMap, openMap.nullish()),
    transaction: z.looseObject({
      id: identifier,
      amount: z.string(),
      status: integer,
      currency: z.string(),
      order_id: z.string(),
      created_at: text,
      base_amount: text,
      base_currency: text,
    }),
    payment_method: z.preprocess(listToMap, paymentMethod.nullish()),
  }),
);
