// What a user's compiler knows of the main door. Compiled by `npm run typecheck`, never run.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import express, { type RequestHandler } from 'express';
import express4, { type RequestHandler as RequestHandler4 } from 'express4';
import {
  type Answer,
  BodyError,
  type Claim,
  ConfigurationError,
  cachedKeys,
  type DeadLetter,
  type DeadLetterGroup,
  type DeadLetterReason,
  type DeadLetterStore,
  type DeadLetters,
  type DeliveryRecord,
  type ErrorCode,
  EventError,
  type EventName,
  type EventOf,
  type Handler,
  HandlerError,
  type IdempotencyStore,
  type Issue,
  isKnown,
  keepRawBody,
  type Lock,
  type Logger,
  memoryDeadLetters,
  memoryStore,
  NonRetriableError,
  type Observer,
  type Receiver,
  type ReceiverOptions,
  type ReplayReport,
  RetryAfterError,
  receiver,
  SignatureError,
  StoreError,
  type TransactionPaid,
  type UnknownEvent,
  verifySignature,
  WebhookError,
  type WebhookEvent,
} from 'payment-webhooks';
import { openTelemetry } from 'payment-webhooks/opentelemetry';
import { enqueue } from 'payment-webhooks/queues/bullmq';
import { constructEvent, type transactionPaidPayload } from 'payment-webhooks/verify';
import { pino } from 'pino';
import * as v from 'valibot';
import { z } from 'zod';

/** Whether two types are the same: neither wider, narrower nor `any`. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_: Same<A, B>): void {}

const events = {
  'refund.succeeded': z.looseObject({ refund: z.looseObject({ id: z.string() }) }),
  'transaction.failed': v.looseObject({ reason: v.string() }),
  'payout.sent': z.object({ amount: z.string().transform(Number) }),
};
type Events = typeof events;
type Paid = TransactionPaid['payload'];

// fetch: a function of its own, as each server that speaks fetch wants it.
const { fetch: handle } = receiver();
same<ReturnType<typeof handle>, Promise<Response>>(true);
const forBun: { fetch(this: object, request: Request, server: object): Promise<Response> } = {
  fetch: handle,
};
const forDeno: (request: Request, info: { remoteAddr: object }) => Promise<Response> = handle;
type WorkerContext = { waitUntil(promise: Promise<unknown>): void };
const forWorkers: { fetch(request: Request, env: { KEY: string }, ctx: WorkerContext): Promise<Response> } = {
  fetch: handle,
};
const forNext: (request: Request, context: { params: Promise<{ id: string }> }) => Promise<Response> = handle;
void [forBun, forDeno, forWorkers, forNext];
// @ts-expect-error: a request of Node has no body to read as fetch does
createServer((req) => handle(req));

// Events: the union, and what belongs to each name.

same<EventName, 'transaction.paid'>(true);
same<EventName<Events>, 'transaction.paid' | keyof Events>(true);
same<WebhookEvent, TransactionPaid>(true);
same<EventOf<'transaction.paid'>, TransactionPaid>(true);
same<EventOf<'payout.sent', Events>['payload'], { amount: number }>(true);
same<TransactionPaid['event_name'], 'transaction.paid'>(true);
same<Paid['transaction']['status'], number>(true);
same<Paid['transaction']['amount'], string>(true);
same<Paid['transaction']['order_id'], string>(true);
same<Paid['transaction']['currency'], string>(true);
same<Paid['transaction']['id'], string>(true);

// Everything else may be null or absent, and is checked before it is used.

same<Paid['transaction']['base_amount'], string | null | undefined>(true);
same<Paid['transaction']['created_at'], string | null | undefined>(true);
same<NonNullable<Paid['customer']>['id'], string | null | undefined>(true);
same<NonNullable<Paid['customer']>['email'], string | null | undefined>(true);
export function optionalParts({ token, customer, metadata, payment_method }: Paid) {
  const secure = payment_method?.card?.is_3d_secure;
  same<typeof secure, boolean | null | undefined>(true);
  // @ts-expect-error: the customer may be null or absent
  customer.name;
  // @ts-expect-error: as may the metadata
  metadata.type;
  // @ts-expect-error: and the card of a payment method
  payment_method?.card.brand;
  return [token?.id, customer?.name, metadata?.type, payment_method?.name];
}
// An object with no more than what is required is a payload.
export const least: Paid = {
  transaction: { id: 't', order_id: 'o', status: 1, amount: '1.00', currency: 'EUR' },
};
export const most: Paid = { ...least, customer: undefined, metadata: null };

// @ts-expect-error: a name that is not declared
export type Undeclared = EventOf<'refund.succeeded'>;

export function exhaustive(event: WebhookEvent<Events>): string {
  switch (event.event_name) {
    case 'transaction.paid':
      return event.payload.transaction.order_id;
    case 'refund.succeeded':
      return event.payload.refund.id;
    case 'transaction.failed':
      return event.payload.reason;
    case 'payout.sent':
      return event.payload.amount.toFixed(2);
    default:
      same<typeof event, never>(true);
      return event;
  }
}

export function incomplete(event: WebhookEvent<Events>): string {
  switch (event.event_name) {
    case 'transaction.paid':
    case 'refund.succeeded':
      return event.id;
    default:
      // @ts-expect-error: two events are left, so a switch that forgets one does not compile
      return event satisfies never;
  }
}

// on(): the pattern decides what the handler is given.

const hooks = receiver({ events });
same<typeof hooks, Receiver<Events>>(true);
hooks
  .on('transaction.paid', (event, context) => {
    same<typeof event, TransactionPaid>(true);
    same<typeof context.signal, AbortSignal>(true);
    same<typeof context.log, Logger>(true);
    same<typeof context.rawBody, Buffer>(true);
    same<typeof context.headers, IncomingHttpHeaders>(true);
    same<typeof context.attempt, number>(true);
    same<typeof context.keyIndex, number>(true);
    same<typeof context.issues, readonly Issue[] | undefined>(true);
    // @ts-expect-error: an event that fits has none
    context.issues.length;
    // @ts-expect-error: the memory store adds nothing to the context
    context.transaction;
    // @ts-expect-error: what belongs to the delivery cannot be replaced
    context.attempt = 2;
  })
  .on('transaction.*', (event) => {
    same<typeof event.event_name, 'transaction.paid' | 'transaction.failed'>(true);
    // @ts-expect-error: not every event of the resource has it, so its name must be asked first
    event.payload.reason;
  })
  .on('*', (event) => {
    same<typeof event, WebhookEvent<Events>>(true);
  })
  .on('refund.succeeded', async () => 'anything may be returned', { name: 'receipt' })
  .onUnknown((event) => {
    same<typeof event, UnknownEvent>(true);
    same<typeof event.payload, { [key: string]: unknown }>(true);
  })
  .onInvalid((error, { rawBody }) => {
    same<typeof error, EventError>(true);
    same<typeof error.issues, readonly Issue[]>(true);
    same<typeof rawBody, Buffer>(true);
  });

// @ts-expect-error: nobody declared an event of this name
hooks.on('refund.failed', () => {});
// @ts-expect-error: no declared event is of this resource
hooks.on('invoice.*', () => {});
// @ts-expect-error: an action cannot be a pattern
hooks.on('*.paid', () => {});
// @ts-expect-error: a slip in the name
hooks.on('transaction.payed', () => {});
// @ts-expect-error: without the events option only the built-in ones are declared
receiver().on('refund.succeeded', () => {});
// @ts-expect-error: no handler
hooks.on('transaction.paid');
// @ts-expect-error: text is no handler
hooks.on('transaction.paid', 'save');
// @ts-expect-error: a handler has no such option
hooks.on('transaction.paid', () => {}, { nmae: 'receipt' });
// @ts-expect-error: the payload has no such field
hooks.on('transaction.paid', (event) => event.payload.order_id);
// @ts-expect-error: the payload of this event is a number after its schema
hooks.on('payout.sent', (event) => event.payload.amount.trim());

// handlers: the same patterns, and the same errors.

receiver({
  events,
  handlers: {
    'transaction.paid': (event) => same<typeof event, TransactionPaid>(true),
    'transaction.*': (event) =>
      same<typeof event.event_name, 'transaction.paid' | 'transaction.failed'>(true),
    'refund.*': (event) => event.payload.refund.id,
    '*': (event, { signal }) => signal.throwIfAborted() ?? event.id,
  },
});
receiver({ handlers: { '*': (event) => same<typeof event, TransactionPaid>(true) } });
// @ts-expect-error: a slip in the name
receiver({ handlers: { 'transaction.payed': () => {} } });
// @ts-expect-error: nobody declared it, though it is given a handler
receiver({ events, handlers: { 'refund.failed': () => {} } });
// @ts-expect-error: no declared event is of this resource
receiver({ handlers: { 'refund.*': () => {} } });
// @ts-expect-error: no handler
receiver({ handlers: { 'transaction.paid': 'save' } });

// A built-in event whose schema is replaced.

const replaced = { 'transaction.paid': z.object({ only: z.string() }) };
receiver({ events: replaced }).on('transaction.paid', (event) => {
  same<typeof event.payload, { only: string }>(true);
});

// Options: usable without type arguments, and every one may be left out or undefined.

const options: ReceiverOptions = { privateKey: 'pri_x', sandbox: 'only', lease: 1_000, logger: false };
receiver(options).on('transaction.paid', (event) => same<typeof event, TransactionPaid>(true));
receiver();
receiver({});
receiver({ privateKey: undefined, handlers: undefined, events: undefined });
receiver({ store: undefined, logger: undefined });
receiver({ privateKey: ['pri_a', 'pri_b'] as const });
receiver({ privateKey: ({ headers }) => [`pri_${headers.host}`] });
receiver().on('transaction.paid', () => {}, { serial: (event) => event.payload.transaction.order_id });
receiver().onUnknown(() => {}, { name: 'archive', serial: (event) => event.id });
// @ts-expect-error a serial value is text
receiver().on('transaction.paid', () => {}, { serial: (event) => event.sandbox });
receiver({ privateKey: async () => 'pri_x' });
receiver({
  privateKey: cachedKeys(async () => ['pri_x'], { ttl: '5m', refreshOnMismatch: 10_000, staleIfError: '1h' }),
});
// @ts-expect-error a key is not loaded by a text
cachedKeys('pri_x');
receiver({ logger: pino() });
receiver({ logger: console });
receiver({ store: false });
receiver({ store: memoryStore({ retention: '7d', maxEntries: 10 }) });
// @ts-expect-error: an option that is unknown
receiver({ limits: '1mb' });
receiver({ lease: '30s', bodyTimeout: '10s', timeout: '10 s', maxHandlerTime: '5m', storeTimeout: 2_000 });
// @ts-expect-error: text or milliseconds, not a list
receiver({ lease: [30] });
// @ts-expect-error: no such policy
receiver({ sandbox: 'deny' });
// With it the types promise more than the bytes have, so it has to be asked for.
receiver({ drift: 'handle' }).on('transaction.paid', (event, { issues = [] }) => {
  same<typeof event, TransactionPaid>(true);
  return issues.map(({ path, message }) => `${path}: ${message}`);
});
receiver({ drift: 'keep', deadLetters: memoryDeadLetters() });
// @ts-expect-error: no such policy
receiver({ drift: 'ignore' });
// @ts-expect-error: a schema is missing
receiver({ events: { 'refund.succeeded': (payload: unknown) => payload } });
// @ts-expect-error: a logger has more than one level
receiver({ logger: { info() {} } });
// @ts-expect-error: true is no store
receiver({ store: true });
// @ts-expect-error: options are read once, so they cannot be changed
options.lease = 5;

// What a store adds to the context reaches every handler, and no other store's handlers.

interface Client {
  query(sql: string, values?: unknown[]): Promise<unknown>;
}
declare const transactional: IdempotencyStore<{ transaction: Client }>;
receiver({
  store: transactional,
  events,
  handlers: { 'transaction.paid': (_event, { transaction }) => same<typeof transaction, Client>(true) },
})
  .on('*', (event, { transaction, attempt }) => transaction.query('insert …', [event.id, attempt]))
  .onUnknown((event, { transaction }) => transaction.query('insert …', [event.id]))
  .onInvalid((error, { transaction, rawBody }) => transaction.query(error.code, [rawBody]));
export const pay: Handler<'transaction.paid', { transaction: Client }> = (event, { transaction }) =>
  transaction.query('update …', [event.payload.transaction.order_id]);
receiver({ store: transactional }).on('transaction.paid', pay);
// @ts-expect-error: without that store there is no transaction
receiver().on('transaction.paid', pay);
// @ts-expect-error: the same in handlers
receiver({ handlers: { 'transaction.paid': pay } });

// The receiver is a request handler of everything that speaks node:http.

export const for5: RequestHandler = receiver();
export const for4: RequestHandler4 = receiver();
express().post('/hooks', receiver({ events }));
express4().post('/hooks', receiver({ events }));
express().use('/hooks', receiver({ store: transactional }));
express.Router().post('/', express.raw(), receiver());
createServer(receiver());
createServer(receiver({ events, store: transactional })).close();
express().use(express.json({ verify: keepRawBody }));
express4().use(express4.json({ verify: keepRawBody }));
export const bare: (req: IncomingMessage, res: ServerResponse) => void = receiver();
export const awaited: (req: IncomingMessage, res: ServerResponse) => Promise<void> = receiver();
// @ts-expect-error: the receiver is mounted, not called: app.post('/hooks', hooks)
receiver()();

// The function that makes receivers is not one of them: each of these would fail at the first request.

// @ts-expect-error: receiver is not called, on Express 5
express().post('/hooks', receiver);
// @ts-expect-error: receiver is not called, on Express 4
express4().post('/hooks', receiver);
// @ts-expect-error: receiver is not called
express().use(receiver);
// @ts-expect-error: receiver is not called
express.Router().post('/', express.raw(), receiver);
// @ts-expect-error: receiver is not called
createServer(receiver);
// @ts-expect-error: receiver is not called, where a listener may take anything
createServer().on('request', receiver);
// @ts-expect-error: receiver takes options and nothing else
receiver({}, express());

// The same slip where a receiver is made.

// @ts-expect-error: memoryStore is not called
receiver({ store: memoryStore });
// @ts-expect-error: openTelemetry is not called
receiver({ observer: openTelemetry });
// @ts-expect-error: enqueue is not called
receiver().on('*', enqueue);

same<ReturnType<Receiver['receive']>, Promise<Answer>>(true);
same<ReturnType<Receiver['close']>, Promise<void>>(true);
same<Receiver['inFlight'], number>(true);
same<Receiver['eventNames'], string[]>(true);
receiver().receive({ rawBody: new Uint8Array(), headers: new Headers() });
receiver().receive({ rawBody: 'text', headers: { 'X-Service-Signature': ['one'] } });
export async function fetchStyle(request: Request): Promise<Response> {
  const { status, headers, body } = await hooks.receive({
    rawBody: await request.arrayBuffer(),
    headers: request.headers,
  });
  return new Response(body, { status, headers });
}
// @ts-expect-error: the headers are missing
receiver().receive({ rawBody: '' });
// @ts-expect-error: how many are in flight is only told
receiver().inFlight = 0;

// Without the middleware.

const keys = ['a', Buffer.from('b')];
const built = constructEvent({ rawBody: '', signature: undefined, privateKey: keys, events });
same<typeof built, WebhookEvent<Events> | UnknownEvent>(true);
if (isKnown(built)) same<typeof built, WebhookEvent<Events>>(true);
else same<typeof built, UnknownEvent>(true);
same<ReturnType<typeof verifySignature>, boolean>(true);
verifySignature(new Uint8Array(), ['not', 'text'], 'pri_x');
// @ts-expect-error: a parsed body is not what was signed
verifySignature({ id: '1' }, 'x', 'pri_x');
// @ts-expect-error: the key is missing
constructEvent({ rawBody: '', signature: '' });
same<z.infer<typeof transactionPaidPayload>['transaction']['order_id'], string>(true);
export const inferred: TransactionPaid['payload'] = {} as z.infer<typeof transactionPaidPayload>;

// Errors: told apart by class or by code.

export function told(error: unknown): ErrorCode | undefined {
  if (SignatureError.is(error)) {
    same<
      typeof error.code,
      'SIGNATURE_MISSING' | 'SIGNATURE_MALFORMED' | 'SIGNATURE_MISMATCH' | 'KEY_MODE_MISMATCH'
    >(true);
    // @ts-expect-error: it is never about a body
    return error.code === 'BODY_MALFORMED' ? error.code : error.code;
  }
  if (EventError.is(error)) return error.issues.length > 0 ? error.code : undefined;
  if (BodyError.is(error) || HandlerError.is(error) || StoreError.is(error)) return error.code;
  if (ConfigurationError.is(error)) same<typeof error.code, 'CONFIGURATION_INVALID'>(true);
  if (WebhookError.is(error)) {
    same<typeof error.status, number>(true);
    same<typeof error.expose, boolean>(true);
    same<typeof error.help, string>(true);
    return error.code;
  }
  if (RetryAfterError.is(error)) same<typeof error.retryAfterMs, number>(true);
  if (NonRetriableError.is(error)) same<typeof error.name, 'NonRetriableError'>(true);
  return undefined;
}

// Stores and observers of one's own.

export class OwnStore implements IdempotencyStore {
  async claim(key: string, { leaseMs, fingerprint }: { leaseMs: number; fingerprint: string }) {
    const claim: Claim = {
      attempt: key.length + leaseMs,
      finished: [fingerprint],
      renew: async () => true,
      complete: async () => true,
      release: async (finished) => finished.length > 0,
    };
    return { status: 'claimed', claim } as const;
  }

  async lock(key: string, leaseMs: number): Promise<Lock | undefined> {
    return key === '' ? undefined : { renew: (ms) => ms > leaseMs, release: async () => true };
  }
}
receiver({ store: new OwnStore() });

// Dead letters: there where the option is given, and perhaps where nobody knows.

const keeping = receiver({ deadLetters: memoryDeadLetters(), events, journal: true });
same<typeof keeping.deadLetters, DeadLetters>(true);
same<Receiver['deadLetters'], DeadLetters | undefined>(true);
keeping.on('refund.succeeded', (event) => event.payload.refund.id).deadLetters.list();
export const asAny: Receiver<Events> = keeping;
export async function rescue(letters: DeadLetters): Promise<string> {
  for await (const letter of letters.list({ reason: 'unknown', event: 'refund.*', since: '7d' })) {
    same<typeof letter, DeadLetter>(true);
    await letters.discard(letter.id, { by: 'ada', because: 'test data' });
    // @ts-expect-error: the bytes come from the store alone
    letter.rawBody;
  }
  const report = await letters.replay({ since: new Date(0), concurrency: 4, dryRun: true });
  same<typeof report, ReplayReport>(true);
  // @ts-expect-error: no reason of a letter
  letters.list({ reason: 'ignored' });
  // @ts-expect-error: a slip: without the filter more letters would be meant
  letters.replay({ events: 'refund.*' });
  // @ts-expect-error: tombstones cannot be replayed
  letters.replay({ discarded: true });
  // @ts-expect-error: nobody discards a letter without a reason
  letters.discard('id', { by: 'ada' });
  const { total, oldest, groups } = await letters.count({ reason: 'failed' });
  same<typeof oldest, Date | undefined>(true);
  same<(typeof groups)[number], DeadLetterGroup>(true);
  // @ts-expect-error: a slip: without the filter more letters would be counted
  letters.count({ name: 'refund.*' });
  return report.events.map(({ eventName, issues }) => `${eventName} ${issues.length}`).join(String(total));
}
// @ts-expect-error: a store of event ids keeps no letters
receiver({ deadLetters: memoryStore() });
// @ts-expect-error: perhaps there are none
receiver({}).deadLetters.list();
export const perhaps = (deadLetters: DeadLetterStore | undefined, reason: DeadLetterReason) =>
  receiver({ deadLetters }).deadLetters?.list({ reason });

const observer: Observer = {
  around: ({ headers }, work) => (headers.traceparent ? work() : work()),
  handler: ({ event, name, attempt }, work) =>
    event.id + event.event_name + name + attempt ? work() : work(),
  settled(record) {
    same<typeof record, DeliveryRecord>(true);
    same<typeof record.outcome, 'processed' | 'duplicate' | 'ignored' | 'kept' | undefined>(true);
    same<typeof record.code, ErrorCode | undefined>(true);
    same<typeof record.deadLetter, DeadLetterReason | undefined>(true);
    same<typeof record.issues, readonly Issue[] | undefined>(true);
    for (const { status } of record.handlers)
      same<typeof status, 'fulfilled' | 'rejected' | 'skipped' | 'running'>(true);
    // @ts-expect-error: nothing of the body is in a record
    record.event;
  },
};
receiver({ observer });
receiver({ observer: { settled: ({ storeMs = 0, conflict }) => console.log(storeMs, conflict) } });
// @ts-expect-error: it must return what the work returns
receiver({ observer: { around: () => 'done' } });
