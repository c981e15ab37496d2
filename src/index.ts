// The main door: the receiver, the event types, the errors and the memory store.

export type { ForgottenEvent } from './claims/forget-event.js';
export type * from './contracts/for-doors.js';
export type { Inbox } from './contracts/inbox.js';
export type { DeadLetterFilter, ReplayFilter } from './dead-letters/dead-letter-filter.js';
export type { DeadLetters } from './dead-letters/dead-letters.js';
export type {
  ReplayCounts,
  ReplayEnd,
  ReplayedEvents,
  ReplayOptions,
  ReplayProgress,
  ReplayReport,
} from './dead-letters/replay.js';
export { NonRetriableError, RetryAfterError } from './deliveries/verdict.js';
export {
  type BodyCode,
  BodyError,
  ConfigurationError,
  type ErrorCode,
  EventError,
  type HandlerCode,
  HandlerError,
  type Issue,
  type SignatureCode,
  SignatureError,
  type StoreCode,
  StoreError,
  WebhookError,
} from './errors.js';
export {
  type EventName,
  type EventOf,
  type EventSchemas,
  isKnown,
  type Payloads,
  type TransactionPaid,
  type UnknownEvent,
  type WebhookEvent,
} from './events/event.js';
export type {
  Card,
  Customer,
  Json,
  PaymentMethod,
  Transaction,
  TransactionPaidPayload,
} from './events/transaction.js';
export type {
  Handler,
  HandlerContext,
  HandlerOptions,
  InvalidHandler,
  Matching,
  Pattern,
} from './handlers/handler.js';
export type { HeadersLike } from './http/headers.js';
export type { Answer } from './http/send-answer.js';
export type { Logger, LogMethod } from './logger.js';
export type { DeliveryRecord, ExhaustedLetter, HandlerReport, Observer, Outcome } from './observer.js';
export { type CachedKeysOptions, cachedKeys, type LoadKeys } from './options/cached-keys.js';
export type { KeyFunction, OutdatedKeys } from './options/keys.js';
export type { DriftPolicy, RedriveOptions, RedriveReason, SandboxPolicy } from './options/option-checks.js';
export type { HandlersByPattern, ReceiverOptions } from './options/options.js';
export { keepRawBody } from './receiver/capture-body.js';
export { type FetchContext, type Receiver, receiver } from './receiver.js';
export { type PrivateKey, verifySignature } from './signature.js';
export { type MemoryInboxOptions, memoryInbox } from './stores/inbox/memory.js';
export type { DeadLetterCount } from './stores/letters/count-letters.js';
export { type MemoryDeadLettersOptions, memoryDeadLetters } from './stores/letters/memory.js';
export { type MemoryStoreOptions, memoryStore } from './stores/memory.js';
