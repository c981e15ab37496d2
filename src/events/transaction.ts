// The events of the `transaction` resource (spec: Members of payload).
import { isIdentifier, isMap } from './envelope.js';

/** Any JSON value. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** We assume that this is the payer; the documentation does not say it. */
export interface Customer {
  /** UUID-like. */
  id?: string | null | undefined;
  city?: string | null | undefined;
  name?: string | null | undefined;
  email?: string | null | undefined;
  phone?: string | null | undefined;
  state?: string | null | undefined;
  address?: string | null | undefined;
  zip_code?: string | null | undefined;
  country_code?: string | null | undefined;
}

/** The fields that a merchant acts on are always there. */
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
  created_at?: string | null | undefined;
  base_amount?: string | null | undefined;
  base_currency?: string | null | undefined;
}

export interface Card {
  /** UUID-like. */
  id?: string | null | undefined;
  /** Card network, upper case. */
  brand?: string | null | undefined;
  /** Hexadecimal text that identifies the card. */
  fingerprint?: string | null | undefined;
  /** The last four digits of the card number. */
  last_digits?: string | null | undefined;
  /** Two letters. */
  country_code?: string | null | undefined;
  /** Whether 3-D Secure authentication was used. */
  is_3d_secure?: boolean | null | undefined;
}

export interface PaymentMethod {
  id?: number | null | undefined;
  name?: string | null | undefined;
  card?: Card | null | undefined;
}

/**
 * Payload of `transaction.paid`. Only what a merchant acts on is always there: `id`, `order_id`, `status`, `amount` and
 * `currency` of the transaction. Everything else may be null or absent, so that no payment is lost because of it. Fields the
 * service adds later are kept, though not typed.
 */
export interface TransactionPaidPayload {
  token?: { id?: string | null | undefined } | null | undefined;
  customer?: Customer | null | undefined;
  /** Entries attached to the transaction. The keys are open, and customers may have written the values. */
  metadata?: { [key: string]: Json } | null | undefined;
  transaction: Transaction;
  payment_method?: PaymentMethod | null | undefined;
}

/** A fast version of the schema in schemas.ts. False also for a payload that the schema would change. */
export function fitsTransactionPaid(payload: unknown): payload is TransactionPaidPayload {
  if (!isMap(payload)) return false;
  const { token, customer, metadata, transaction, payment_method: method } = payload;
  return (
    isTransaction(transaction) &&
    (isAbsent(token) || (isMap(token) && isOptionalIdentifier(token.id))) &&
    (isAbsent(customer) || isCustomer(customer)) &&
    (isAbsent(metadata) || isMap(metadata)) &&
    (isAbsent(method) || isPaymentMethod(method))
  );
}

/** The documented integers. */
const INTEGERS = [
  ['transaction', 'status'],
  ['payment_method', 'id'],
] as const;

/**
 * Paths of the documented integers that JSON.parse has rounded, of a payload as it was parsed; undefined if there are none.
 * No other field is looked at: what else is a number is not documented, and metadata is not walked.
 */
export function roundedIntegers(payload: object): readonly string[] | undefined {
  let rounded: string[] | undefined;
  for (const [parent, field] of INTEGERS) {
    const value = (payload as Record<string, unknown>)[parent];
    if (!isMap(value) || !Number.isInteger(value[field]) || Number.isSafeInteger(value[field])) continue;
    rounded ??= [];
    rounded.push(`payload.${parent}.${field}`);
  }
  return rounded;
}

function isTransaction(value: unknown): boolean {
  return (
    isMap(value) &&
    isIdentifier(value.id) &&
    typeof value.amount === 'string' &&
    Number.isInteger(value.status) &&
    typeof value.currency === 'string' &&
    typeof value.order_id === 'string' &&
    isOptionalText(value.created_at) &&
    isOptionalText(value.base_amount) &&
    isOptionalText(value.base_currency)
  );
}

function isCustomer(value: unknown): boolean {
  return (
    isMap(value) &&
    isOptionalIdentifier(value.id) &&
    isOptionalText(value.city) &&
    isOptionalText(value.name) &&
    isOptionalText(value.email) &&
    isOptionalText(value.phone) &&
    isOptionalText(value.state) &&
    isOptionalText(value.address) &&
    isOptionalText(value.zip_code) &&
    isOptionalText(value.country_code)
  );
}

function isPaymentMethod(value: unknown): boolean {
  return (
    isMap(value) &&
    (isAbsent(value.id) || Number.isInteger(value.id)) &&
    isOptionalText(value.name) &&
    (isAbsent(value.card) || isCard(value.card))
  );
}

function isCard(value: unknown): boolean {
  return (
    isMap(value) &&
    isOptionalIdentifier(value.id) &&
    isOptionalText(value.brand) &&
    isOptionalText(value.fingerprint) &&
    isOptionalText(value.last_digits) &&
    isOptionalText(value.country_code) &&
    (isAbsent(value.is_3d_secure) || typeof value.is_3d_secure === 'boolean')
  );
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function isOptionalText(value: unknown): boolean {
  return isAbsent(value) || typeof value === 'string';
}

function isOptionalIdentifier(value: unknown): boolean {
  return isAbsent(value) || isIdentifier(value);
}
