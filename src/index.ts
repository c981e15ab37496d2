// The main door: the receiver, the event types, the errors and the memory store.

export type {
  DeadLetter,
  DeadLetterChange,
  DeadLetterContent,
  DeadLetterGroup,
  DeadLetterPage,
  DeadLetterPageRequest,
  DeadLetterQuery,
  DeadLetterReason,
  DeadLetterStore,
  Discarded,
  NewDeadLetter,
  ProcessedEvent,
} from './claims/dead-letter-store.js';
export type { Claim, ClaimRequest, ClaimResult, IdempotencyStore, Lock } from './claims/idempotency-store.js';
export { type ConstructEventOptions, constructEvent } from './construct-event.js';
export type { DeadLetterFilter, ReplayFilter } from './dead-letters/dead-letter-filter.js';
export type { DeadLetters } from './dead-letters/dead-letters.js';
export type { DeadLetterCount } from './dead-letters/letter-queries.js';
export { type MemoryDeadLettersOptions, memoryDeadLetters } from './dead-letters/memory.js';
export type {
  ReplayCounts,
  ReplayEnd,
  ReplayedEvents,
  ReplayOptions,
  ReplayProgress,
  ReplayReport,
} from './dead-letters/replay.js';
export {
  BodyError,
  ConfigurationError,
  type ErrorCode,
  EventError,
  HandlerError,
  type Issue,
  SignatureError,
  StoreError,
  WebhookError,
} from './errors.js';
export {
  type EventName,
  type EventOf,
  type EventSchemas,
  isKnown,
  type TransactionPaid,
  type UnknownEvent,
  type WebhookEvent,
} from './events/event.js';
export { type TransactionPaidPayload, transactionPaidPayload } from './events/transaction.js';
export type { Handler, HandlerContext, HandlerOptions, InvalidHandler } from './handlers/handler.js';
export { NonRetriableError, RetryAfterError } from './handlers/verdict.js';
export type { Logger } from './logger.js';
export type { DeliveryRecord, ExhaustedLetter, HandlerReport, Observer, Outcome } from './observer.js';
export { type CachedKeysOptions, cachedKeys, type LoadKeys } from './options/cached-keys.js';
export type { KeyFunction } from './options/keys.js';
export type { RedriveOptions, RedriveReason } from './options/option-checks.js';
export type { ReceiverOptions } from './options/options.js';
export { keepRawBody } from './receiver/capture-body.js';
export type { Answer } from './receiver/respond.js';
export { type Receiver, receiver } from './receiver.js';
export { verifySignature } from './signature.js';
export { type MemoryStoreOptions, memoryStore } from './stores/memory.js';
