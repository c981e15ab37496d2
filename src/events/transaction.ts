// The events of the `transaction` resource (spec: Members of payload).
import { z } from 'zod';
import { identifier } from './envelope.js';

/** Any JSON value. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** We assume that this is the payer; the documentation does not say it. Every field except `id` may be null. */
export interface Customer {
  /** UUID-like. */
  id: string;
  city: string | null;
  name: string | null;
  email: string | null;
  phone: string | null;
  state: string | null;
  address: string | null;
  zip_code: string | null;
  country_code: string | null;
}

export interface Transaction {
  /** UUID-like. */
  id: string;
  /** Numeric text. Use a decimal type: a float would round some amounts. */
  amount: string;
  /** 1 on `transaction.paid`; the meaning of other values is not documented. */
  status: number;
  /** Currency code. */
  currency: string;
  /** The identifier that you gave the order. */
  order_id: string;
  /** ISO 8601 in UTC with microseconds and a trailing `Z`. `Date` keeps only its milliseconds. */
  created_at: string;
  base_amount: string | null;
  base_currency: string | null;
}

export interface Card {
  /** UUID-like. */
  id: string;
  /** Card network, upper case. */
  brand: string;
  /** Hexadecimal text that identifies the card. */
  fingerprint: string;
  /** The last four digits of the card number. */
  last_digits: string;
  /** Two letters. */
  country_code: string;
  /** Whether 3-D Secure authentication was used. */
  is_3d_secure: boolean;
}

export interface PaymentMethod {
  id: number;
  name: string;
  card: Card;
}

/** Payload of `transaction.paid`. Fields the service adds later are kept, though not typed. */
export interface TransactionPaidPayload {
  token: { id: string };
  customer: Customer;
  /** Entries attached to the transaction. The keys are open, and customers may have written the values. */
  metadata: { [key: string]: Json };
  transaction: Transaction;
  payment_method: PaymentMethod;
}

const integer = z.number().refine(Number.isInteger, 'expected integer');
const textOrNull = z.string().nullable();

// An open map that JSON.parse made: its values are JSON already. Walking it would cost 575 µs at 256 KB.
const openMap = z.custom<{ [key: string]: Json }>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'expected object',
);

/** Schema of the payload of `transaction.paid`: strict about documented types, lenient about the rest. */
export const transactionPaidPayload = z.looseObject({
  token: z.looseObject({ id: identifier }),
  customer: z.looseObject({
    id: identifier,
    city: textOrNull,
    name: textOrNull,
    email: textOrNull,
    phone: textOrNull,
    state: textOrNull,
    address: textOrNull,
    zip_code: textOrNull,
    country_code: textOrNull,
  }),
  metadata: openMap,
  transaction: z.looseObject({
    id: identifier,
    amount: z.string(),
    status: integer,
    currency: z.string(),
    order_id: z.string(),
    created_at: z.string(),
    base_amount: textOrNull,
    base_currency: textOrNull,
  }),
  payment_method: z.looseObject({
    id: integer,
    name: z.string(),
    card: z.looseObject({
      id: identifier,
      brand: z.string(),
      fingerprint: z.string(),
      last_digits: z.string(),
      country_code: z.string(),
      is_3d_secure: z.boolean(),
    }),
  }),
});
