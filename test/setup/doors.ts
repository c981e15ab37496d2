// Each door of the package with everything that it exports, values and types.

export interface Door {
  /** Everything that can be imported at run time, in alphabetical order. */
  readonly values: readonly string[];
  readonly types: readonly string[];
  /** What its user has to install. */
  readonly brings?: readonly string[];
}

const namesIn = (text: string) => text.trim().split(/\s+/);

/** Each door of the package, held to what it promises. A new door, or a new export, is entered here. */
export const DOORS: Readonly<Record<string, Door>> = {
  '.': {
    values: namesIn(`
      BodyError ConfigurationError EventError HandlerError NonRetriableError RetryAfterError SignatureError
      StoreError WebhookError cachedKeys isKnown keepRawBody memoryDeadLetters memoryInbox memoryStore
      receiver verifySignature`),
    types: namesIn(`
      Answer BodyCode CachedKeysOptions Card Claim Completion ForgetResult ForgottenEvent HandlerClaim HandlerEnd Once WithOnce ClaimRequest ClaimResult Customer
      DeadLetter DeadLetterChange DeadLetterContent DeadLetterCount DeadLetterFilter DeadLetterGroup
      DeadLetterPage DeadLetterPageRequest DeadLetterQuery DeadLetterReason DeadLetterStore DeadLetters
      DeliveryRecord Discarded DriftPolicy ErrorCode EventName EventOf EventSchemas ExhaustedLetter
      FetchContext Handler HandlerCode HandlerContext HandlerOptions HandlerReport HandlersByPattern
      HeadersLike IdempotencyStore Inbox InvalidHandler Issue Json KeyFunction LoadKeys Lock
      LogMethod Logger Matching MemoryDeadLettersOptions MemoryInboxOptions MemoryStoreOptions NewDeadLetter Observer Outcome
      OutdatedKeys Pattern Payloads PaymentMethod PrivateKey ProcessedEvent Receiver ReceiverOptions
      RedriveOptions RedriveReason ReplayCounts ReplayEnd ReplayFilter ReplayOptions ReplayProgress
      ReplayReport ReplayedEvents SandboxPolicy SignatureCode StoreCode Transaction TransactionPaid
      TransactionPaidPayload UnknownEvent WebhookEvent`),
  },
  './verify': {
    values: namesIn(`constructEvent transactionPaidPayload verifySignature`),
    types: namesIn(`
      Card ConstructEventOptions Customer EventName EventOf EventSchemas Json PaymentMethod Payloads PrivateKey Transaction
      TransactionPaid TransactionPaidPayload UnknownEvent WebhookEvent`),
  },
  './stores/postgres': {
    values: namesIn(`postgresDeadLetters postgresInbox postgresStore`),
    types: namesIn(`
      Claim Completion ForgetResult HandlerClaim HandlerEnd Once WithOnce ClaimRequest ClaimResult DeadLetter DeadLetterChange DeadLetterContent DeadLetterGroup
      DeadLetterPage DeadLetterPageRequest DeadLetterQuery DeadLetterReason DeadLetterStore Discarded
      IdempotencyStore Lock NewDeadLetter PostgresClient PostgresDeadLetters
      PostgresDeadLettersOptions PostgresInbox PostgresInboxOptions PostgresPool PostgresQuery PostgresReply PostgresStore PostgresStoreOptions
      ProcessedEvent`),
  },
  './stores/redis': {
    values: namesIn(`redisDeadLetters redisInbox redisStore`),
    types: namesIn(`
      Claim Completion ForgetResult HandlerClaim HandlerEnd Once WithOnce ClaimRequest ClaimResult DeadLetter DeadLetterChange DeadLetterContent DeadLetterGroup
      DeadLetterPage DeadLetterPageRequest DeadLetterQuery DeadLetterReason DeadLetterStore Discarded
      IdempotencyStore Lock NewDeadLetter ProcessedEvent RedisDeadLetters
      RedisDeadLettersOptions RedisInbox RedisInboxOptions RedisStoreOptions SendCommand`),
  },
  './stores/sql': {
    values: namesIn(`sqlDeadLetters sqlInbox sqlStore sqliteDatabase sqliteInbox`),
    types: namesIn(`
      Claim Completion ForgetResult HandlerClaim HandlerEnd Once WithOnce ClaimRequest ClaimResult DeadLetter DeadLetterChange DeadLetterContent DeadLetterGroup
      DeadLetterPage DeadLetterPageRequest DeadLetterQuery DeadLetterReason DeadLetterStore Discarded
      IdempotencyStore Lock NewDeadLetter ProcessedEvent RunTransaction SqlDatabase
      OnceSync SqlDeadLetters SqlDeadLettersOptions SqlDialect SqlInbox SqlInboxOptions SqlStore SqlStoreOptions
      SqlStoreSettings SqlValue SqliteDatabase TransactionOf WithOnceSync`),
  },
  './queues': {
    values: namesIn(`enqueue processor`),
    types: namesIn(`Enqueue Job JobDetails JobVerdict ProcessJob ProcessorOptions QueuedDelivery SendJob`),
  },
  './queues/bullmq': {
    values: namesIn(`enqueue processor`),
    types: namesIn(`
      AddedJob Enqueue EnqueueOptions EventProcessor JobQueue ProcessedJob ProcessorOptions QueuedDelivery`),
    brings: ['bullmq'],
  },
  './queues/pg-boss': {
    values: namesIn(`enqueue jobIdOf processor`),
    types: namesIn(`
      Boss BossJobState CancellingBoss Enqueue EnqueueOptions EventProcessor JobOptionsOf
      ProcessedJob ProcessorOptions QueuedDelivery`),
  },
  './ops': {
    values: namesIn(`deadLetterPage health`),
    types: namesIn(`
      Authorize DeadLetterPageOptions HealthCheck HealthOptions HealthReport PageReceiver PageUser
      WatchedReceiver`),
  },
  './opentelemetry': {
    values: namesIn(`observeDeadLetters openTelemetry`),
    types: namesIn(`
      CountedLetters ObserveDeadLettersOptions ObservedReceiver Observer OpenTelemetryOptions`),
    brings: ['@opentelemetry/api'],
  },
  './testing': {
    values: namesIn(`
      badDeliveries deadLetterContract deliver fakeOnce fixtures sign signed signedDelivery storeContract`),
    types: namesIn(`
      BadDelivery Card Customer DeadLetterContractCase DeadLetterContractOptions DeepPartial DeliverOptions
      DeliverableApp DeliveryAnswer EventFixture Json OnceContract PaymentMethod PrivateKey SignedDelivery SigningOptions
      StoreContractCase StoreContractOptions SuperagentRequest Transaction TransactionPaid
      TransactionPaidPayload`),
  },
  './simulator': {
    values: namesIn(`faultKinds seeds startSimulator`),
    types: namesIn(`
      Attempt CancelReason Delivery DeliveryFilter DeliveryStatus Fault FaultKind FaultRule HeaderPair
      Overrides RetrySchedule Scope SeededAccount SeededKey SeededToken Simulator SimulatorOptions
      TriggerOptions WaitFilter Webhook`),
  },
  './client': {
    values: namesIn(`
      AuthenticationError ConfigurationError ConnectionError NotFoundError PermissionError RateLimitError
      ServiceClient ServiceError ValidationError codec`),
    types: namesIn(`
      AccessTokenSource Account AccountClient Codec ConnectionCode Ensured Fetch FetchResponse Issue RequestOptions
      ServiceClientOptions ServiceErrorCode Webhook WebhookChanges WebhookFields WebhookInput
      WebhooksClient`),
  },
};
