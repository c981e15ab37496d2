// The door for code that is no receiver: checks a signature or a whole delivery, and has the schemas that say what is wrong.

export { type ConstructEventOptions, constructEvent } from './construct-event.js';
export type {
  EventName,
  EventOf,
  EventSchemas,
  Payloads,
  TransactionPaid,
  UnknownEvent,
  WebhookEvent,
} from './events/event.js';
export { transactionPaidPayload } from './events/schemas.js';
export type {
  Card,
  Customer,
  Json,
  PaymentMethod,
  Transaction,
  TransactionPaidPayload,
} from './events/transaction.js';
export { type PrivateKey, verifySignature } from './signature.js';
