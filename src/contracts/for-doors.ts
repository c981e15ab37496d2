// Both contracts of stores with every type in them, for the doors: the results of their functions have these types.
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
} from './dead-letter-store.js';
export type {
  Claim,
  ClaimRequest,
  ClaimResult,
  Completion,
  ForgetResult,
  HandlerClaim,
  HandlerEnd,
  IdempotencyStore,
  Lock,
  Once,
  WithOnce,
} from './idempotency-store.js';
