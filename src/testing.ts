// DOOR "./testing": signed deliveries, good and bad, for the tests of an app that receives webhooks.
export type { TransactionPaid } from './events/event.js';
export type {
  Card,
  Customer,
  Json,
  PaymentMethod,
  Transaction,
  TransactionPaidPayload,
} from './events/transaction.js';
export { type DeepPartial, type EventFixture, fixtures } from './fixtures/fixture.js';
export { type PrivateKey, sign } from './signature.js';
export { type BadDelivery, badDeliveries } from './testing/bad-deliveries.js';
export {
  type DeadLetterContractCase,
  type DeadLetterContractOptions,
  deadLetterContract,
} from './testing/dead-letter-contract.js';
export { type DeliverableApp, type DeliverOptions, type DeliveryAnswer, deliver } from './testing/deliver.js';
export { fakeOnce } from './testing/fake-once.js';
export {
  type SignedDelivery,
  type SigningOptions,
  type SuperagentRequest,
  signed,
  signedDelivery,
} from './testing/sign-delivery.js';
export {
  type OnceContract,
  type StoreContractCase,
  type StoreContractOptions,
  storeContract,
} from './testing/store-contract.js';
