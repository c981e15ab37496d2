// A fast check of `transaction.paid` payloads; zod runs only for those that do not fit.
import { isIdentifier, isMap } from './envelope.js';
import type { TransactionPaidPayload } from './transaction.js';

/** False also where the schema would have to change something. */
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
