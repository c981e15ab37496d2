// The checks of `doctor`: what to send, what answer to expect, and what to fix if another one comes.
import { fixtures } from '../../fixtures/fixture.js';
import { badDeliveries } from '../../testing/bad-deliveries.js';
import { type SigningOptions, signedDelivery } from '../../testing/sign-delivery.js';
import { outcomeIn } from '../simulator/delivery/delivery-record.js';
import type { Answer, Delivery, NoAnswer, Reply } from './probe.js';

type Expected = keyof typeof EXPECTED;

export interface Check {
  readonly name: string;
  readonly expected: Expected;
  readonly delivery: Delivery;
}

/** Marks the test events, which are also sandbox events. */
const TEST_ORDER = 'doctor-test';

export function checks(signing: SigningOptions) {
  const post = (event: object | string): Delivery => {
    const { headers, rawBody } = signedDelivery(event, signing);
    return { method: 'POST', headers, body: rawBody };
  };
  const valid = post(testEvent());
  const spaced = post(JSON.stringify(testEvent(), null, 3));
  const padded = (bytes: number) => post(testEvent({ padding: 'x'.repeat(bytes) }));
  const get: Delivery = { method: 'GET', headers: {}, body: Buffer.alloc(0) };
  const endless: Delivery = { ...post(testEvent()), slowly: true };
  return {
    first: { name: 'a valid delivery', expected: 'accepted', delivery: valid },
    /** Looks at the answer to the first. */
    cookie: { name: 'no cookie in the answer', expected: 'without-cookie', delivery: valid },
    /** Means nothing unless a handler ran for the first. */
    repeat: { name: 'the same delivery again', expected: 'deduplicated', delivery: valid },
    others: [
      { name: 'a valid delivery with other spacing', expected: 'accepted', delivery: spaced },
      ...badDeliveries(testEvent(), signing).map(({ name, body, headers, status }): Check => {
        const expected = status === 401 ? 'refused' : status === 413 ? 'limited' : 'not-retried';
        return { name, expected, delivery: { method: 'POST', headers, body: Buffer.from(body) } };
      }),
      { name: 'a valid delivery of 150 KB', expected: 'roomy', delivery: padded(150_000) },
      { name: 'a valid delivery of 300 KB', expected: 'limited', delivery: padded(300_000) },
      { name: 'GET', expected: 'not-found', delivery: get },
    ],
    /** Sent at the same time as the others, because it takes as long as the endpoint waits. */
    slow: { name: 'a body that never ends', expected: 'timed-out', delivery: endless },
    last: { name: 'a valid delivery after all that', expected: 'accepted', delivery: post(testEvent()) },
  } satisfies Record<string, Check | readonly Check[]>;
}

function testEvent(metadata: Record<string, string> = {}): object {
  return fixtures.transactionPaid({
    sandbox: true,
    payload: { metadata: { type: TEST_ORDER, ...metadata }, transaction: { order_id: TEST_ORDER } },
  });
}

const accepts = ({ status }: Answer) => status >= 200 && status < 300;
const refuses = ({ status }: Answer) => status >= 400 && status < 500;
const acceptsOrRefuses = (answer: Answer) => accepts(answer) || refuses(answer);

const PARSED_FIRST =
  "express.json() runs before receiver() and keeps no bytes, so no signature can be checked. Move app.post(…, receiver()) above the line app.use(express.json()), or change that line to app.use(express.json({ limit: '256kb', verify: keepRawBody })), with keepRawBody from payment-webhooks.";
const REENCODED =
  'The raw bytes were not checked, as when an app checks JSON.stringify(req.body) instead. Check the signature over the raw bytes: receiver() does, if it comes before express.json().';
const UNHANDLED = {
  ignored:
    "It answered 200 ignored: no handler ran. Either no handler is registered for transaction.paid, or the option sandbox is 'ignore'. Register a handler, or run doctor where the app processes sandbox events.",
  kept: 'It answered 200 kept: no handler ran, because the event does not match the schema that the app declares for transaction.paid. The event is a dead letter now. Fix the schema.',
};

const ACCEPTED_FIXES: Readonly<Record<number, string>> = {
  401: 'A correct signature was refused. Common causes: the app has another key; it reads another header (see --header); or express.json() runs before the signature is checked.',
  403: 'Something before the receiver refuses the request. Exclude this path from sign-in and CSRF checks.',
  404: 'There is no route at this path. Compare the URL with the one in app.post(…).',
  405: 'The route does not accept POST. Mount the receiver with app.post(…).',
  413: 'An ordinary event is larger than the limit. Raise the option limit, or that of the parser or proxy above the receiver.',
  415: 'Its content type is refused. Mount the receiver before any body parser; it accepts any content type.',
  422: 'The event does not match the schema that the app declares for transaction.paid.',
  500: 'The app failed on a valid event; see its log. If a handler needs the order to exist, skip sandbox events (the option sandbox).',
  503: 'The app cannot process deliveries now. Check its store, its key function, and what its handlers wait for.',
};

const PARSER_LIMIT =
  "Something above receiver() refused it, and the receiver never logged it: express.json() accepts 100 kB by default. Set it to the limit of the receiver, express.json({ limit: '256kb', verify: keepRawBody }), or raise that of the proxy (nginx: client_max_body_size).";
const COOKIE =
  'It sets a cookie: a session runs above receiver(), and may store a session for every delivery. Mount receiver() above it.';
const PARSER_WAITS =
  'express.json() above receiver() reads the body, so bodyTimeout has no effect. Set server.requestTimeout, which is 5 minutes by default: server.requestTimeout = 30_000. Or mount receiver() above the parser.';

/** What to fix; undefined for an expected answer. @param name of the check */
type Fix = (answer: Answer, name: string) => string | undefined;

const EXPECTED = {
  accepted: fixOfAccepted,
  deduplicated: (answer) => {
    if (!accepts(answer))
      return 'The same delivery was accepted the first time. Answer 2xx for an event that was already handled, or the sender may send it again and again.';
    if (outcomeIn(answer.text) !== 'processed') return undefined;
    return 'The event was handled twice. Senders deliver events more than once: keep a store (the default memoryStore(), or redisStore() for several processes), and do not set store: false.';
  },
  /** Forged. `cachedKeys()` answers 503 until it may load newer keys. */
  refused: (answer, name) => {
    const { status, text } = answer;
    if (refuses(answer) || (status === 503 && text.includes('KEY_UNAVAILABLE'))) return undefined;
    if (status >= 300)
      return 'Check the signature before anything else, and answer 401: after a 5xx the sender retries.';
    if (name.includes('serialized')) return REENCODED;
    return 'A FORGED DELIVERY WAS ACCEPTED: anyone who knows the URL can report payments. Check the signature over the raw bytes, in constant time, and accept only 64 lower-case hexadecimal digits: mount receiver().';
  },
  /** Correctly signed, but invalid: the endpoint may refuse or ignore it. */
  'not-retried': unless(
    acceptsOrRefuses,
    'Answer 4xx: after a 5xx the sender retries a delivery that can never succeed.',
  ),
  /** Larger than any event: refused, or accepted without a crash. */
  limited: unless(
    acceptsOrRefuses,
    'Limit the size of the body (the default of receiver() is 256 KB), and answer 413.',
  ),
  /** Larger than the default limit of parsers, and smaller than that of `receiver()`. Its own limit was set on purpose. */
  roomy: (answer, name) => {
    if (answer.status === 413) return isOfReceiver(answer) ? undefined : PARSER_LIMIT;
    return fixOfAccepted(answer, name);
  },
  'without-cookie': unless(({ setsCookie }) => !setsCookie, COOKIE),
  'not-found': unless(refuses, 'Mount the receiver for POST only: app.post(…, receiver()).'),
  'timed-out': unless(refuses, 'Answer 408 to a body that does not end: receiver() does after bodyTimeout.'),
} satisfies Readonly<Record<string, Fix>>;

function fixOfAccepted(answer: Answer, name: string): string | undefined {
  if (accepts(answer)) return undefined;
  if (answer.status === 401 && name.includes('spacing')) return REENCODED;
  return ACCEPTED_FIXES[answer.status] ?? `Answer 2xx to a valid delivery.${errorCode(answer.text)}`;
}

function unless(isMet: (answer: Answer) => boolean, fix: string): Fix {
  return (answer) => (isMet(answer) ? undefined : fix);
}

/**
 * What the endpoint answered, and what to fix if that was not expected.
 *
 * @param parser whether a body parser above the receiver answers before it
 */
export function evaluateCheck(
  { expected, name }: Check,
  reply: Reply,
  parser = false,
): { got: string; fix?: string } {
  if ('failure' in reply) {
    const stopsReading = expected === 'timed-out' && reply.failure !== 'TIMED_OUT';
    return { got: reply.message, ...(stopsReading ? {} : { fix: unanswered(expected, reply, parser) }) };
  }
  const unhandled = expected === 'accepted' ? outcomeWithoutHandler(reply) : undefined;
  if (unhandled) return { got: `${reply.status} ${unhandled}`, fix: UNHANDLED[unhandled] };
  const isAbove = parser && EXPECTED_OF_RECEIVER.has(expected) && refuses(reply) && !isOfReceiver(reply);
  const got =
    expected === 'without-cookie' ? cookieOf(reply) : `${reply.status}${isAbove ? ' above receiver()' : ''}`;
  const fix = EXPECTED[expected](reply, name);
  return fix === undefined ? { got } : { got, fix: causeInAnswer(reply) ?? fix };
}

/** What the receiver refuses itself, unless something above it does. */
const EXPECTED_OF_RECEIVER: ReadonlySet<Expected> = new Set<Expected>(['not-retried', 'limited', 'roomy']);

function cookieOf({ setsCookie }: Answer): string {
  return setsCookie ? 'a cookie' : 'none';
}

/** Whether receiver() wrote this answer to a delivery that is signed correctly. */
function isOfReceiver({ text }: Answer): boolean {
  return outcomeIn(text) !== null || /"code":"[A-Z_]{1,40}"/.test(text);
}

/**
 * Whether a body parser reads the body above the receiver: the receiver answers a valid delivery, and something else the
 * one that is signed correctly and not JSON.
 */
export function hasParserAbove(first: Reply, { name, expected }: Check, reply: Reply): boolean {
  if ('failure' in first || 'failure' in reply || outcomeIn(first.text) === null) return false;
  return (
    expected === 'not-retried' && name.includes('not JSON') && reply.status === 400 && !isOfReceiver(reply)
  );
}

/** Set where the endpoint has accepted the event, and says that no handler ran. */
export function outcomeWithoutHandler(reply: Reply): keyof typeof UNHANDLED | undefined {
  const outcome = 'status' in reply && accepts(reply) ? outcomeIn(reply.text) : null;
  return outcome === 'ignored' || outcome === 'kept' ? outcome : undefined;
}

/** A cause that the answer shows, whichever delivery was sent. */
function causeInAnswer({ status, text }: Answer): string | undefined {
  if (status >= 300 && status < 400) {
    return 'Senders do not follow redirects. Register the URL that this one redirects to.';
  }
  // The code of receiver(), or the error of createHmac().update() for a parsed body.
  const consumed = /BODY_CONSUMED|must be of type string or an instance of Buffer/.test(text);
  return status >= 500 && consumed ? PARSED_FIRST : undefined;
}

function unanswered(expected: Expected, { failure }: NoAnswer, parser: boolean): string {
  if (failure !== 'TIMED_OUT') {
    return expected === 'limited'
      ? 'The connection was closed before an answer. Send 413 and keep reading for a moment, so that the sender learns why.'
      : 'Answer every delivery. See the log for what closed the connection.';
  }
  if (expected === 'timed-out' && parser) return PARSER_WAITS;
  return expected === 'timed-out'
    ? 'It did not stop reading within --timeout. If its own limit is longer, raise --timeout. If it has none, a few slow clients can exhaust it: limit the time for the whole body with bodyTimeout of receiver(), or with server.requestTimeout if anything above it reads the body.'
    : 'It did not answer within --timeout. Answer faster and move long work to a queue, or raise --timeout.';
}

function errorCode(text: string): string {
  const [, found] = /"code":"([A-Z_]{1,40})"/.exec(text) ?? [];
  return found === undefined ? '' : ` It answered ${found}. Run \`npx payment-webhooks explain ${found}\`.`;
}
