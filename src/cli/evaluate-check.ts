// Evaluates what an endpoint answered to a check: passed or failed, and for a failure what to fix.
import { outcomeIn } from '../simulator/delivery/delivery-record.js';
import type { Check, ExpectedResult } from './checks.js';
import type { Reply } from './probe.js';

export interface Evaluation {
  readonly passed: boolean;
  /** What the endpoint answered, in a few words. */
  readonly got: string;
  readonly fix?: string;
}

const PARSED_FIRST =
  'express.json() runs before receiver() and keeps no bytes, so no signature can be checked. Move app.post(…, receiver()) above the line app.use(express.json()), or change that line to app.use(express.json({ verify: keepRawBody })), with keepRawBody from payment-webhooks.';
const REENCODED =
  'The app checks the signature over JSON that it parsed and encoded again, as in JSON.stringify(req.body). Check it over the raw bytes: receiver() does, if it comes before express.json().';
const IGNORED =
  "It answered 200 ignored: no handler ran. Either no handler is registered for transaction.paid, or the option sandbox is 'ignore'. Register a handler. With sandbox: 'ignore', run doctor where the app processes sandbox events.";

export function evaluateCheck({ expected, name }: Check, reply: Reply): Evaluation {
  if (expected === 'accepted' && wasIgnored(reply)) {
    return { passed: false, got: `${reply.status} ignored`, fix: IGNORED };
  }
  const got = reply.status === undefined ? reply.message : String(reply.status);
  if (passes(expected, reply)) return { passed: true, got };
  if (reply.status === undefined) return { passed: false, got, fix: unanswered(expected, reply) };
  return { passed: false, got, fix: causeInAnswer(reply) ?? FIXES[expected](reply, name) };
}

/** Accepted, but the endpoint says that no handler ran. */
export function wasIgnored({ status = 0, text = '' }: Reply): boolean {
  return status >= 200 && status < 300 && outcomeIn(text) === 'ignored';
}

function passes(expected: ExpectedResult, reply: Reply): boolean {
  const { status } = reply;
  if (status === undefined) return expected === 'timed-out' && reply.failure !== 'TIMED_OUT';
  const accepted = status >= 200 && status < 300;
  const refused = status >= 400 && status < 500;
  switch (expected) {
    case 'accepted':
      return accepted;
    case 'deduplicated':
      return accepted && outcomeIn(reply.text) !== 'processed';
    case 'refused':
    case 'not-found':
    case 'timed-out':
      return refused;
    // The endpoint may refuse or ignore content that nobody can use.
    case 'not-retried':
    case 'limited':
      return accepted || refused;
  }
}

type Answered = Extract<Reply, { status: number }>;

const FIXES: Readonly<Record<ExpectedResult, (reply: Answered, name: string) => string>> = {
  accepted: ({ status, text }, name) => {
    if (status === 401 && name.includes('spacing')) return REENCODED;
    return ACCEPTED_FIXES.get(status) ?? `Answer 2xx to a valid delivery.${errorCode(text)}`;
  },
  deduplicated: ({ status }) =>
    status < 300
      ? 'The event was handled twice. Senders repeat deliveries: keep a store (the default memoryStore(), or redisStore() for several processes), and do not set store: false.'
      : 'The same delivery was accepted the first time. Answer 2xx for an event that was already handled, or the sender may send it again and again.',
  refused: ({ status }, name) => {
    if (status >= 300)
      return 'Check the signature before anything else, and answer 401: after a 5xx the sender retries.';
    if (/seriali[sz]ed/.test(name)) return REENCODED;
    return 'A FORGED DELIVERY WAS ACCEPTED: anyone who knows the URL can report payments. Check the signature over the raw bytes, in constant time, and accept only 64 lower-case hexadecimal digits: mount receiver().';
  },
  'not-retried': () => 'Answer 4xx: after a 5xx the sender retries a delivery that can never succeed.',
  limited: () => 'Limit the size of the body (the default of receiver() is 256 KB), and answer 413.',
  'not-found': () => 'Mount the receiver for POST only: app.post(…, receiver()).',
  'timed-out': () => 'Answer 408 to a body that does not end: receiver() does after bodyTimeout.',
};

const ACCEPTED_FIXES: ReadonlyMap<number, string> = new Map([
  [
    401,
    'A correct signature was refused. Common causes: the app has another key; it reads another header (see --header); or express.json() runs before the signature is checked.',
  ],
  [403, 'Something before the receiver refuses the request. Exclude this path from sign-in and CSRF checks.'],
  [404, 'There is no route at this path. Compare the URL with the one in app.post(…).'],
  [405, 'The route does not accept POST. Mount the receiver with app.post(…).'],
  [413, 'An ordinary event is larger than the limit. Raise the option limit.'],
  [
    415,
    'Its content type is refused. Mount the receiver before any body parser; it accepts any content type.',
  ],
  [422, 'The event does not match the schema that the app declares for transaction.paid.'],
  [
    500,
    'The app failed on a valid event; see its log. If a handler needs the order to exist, skip sandbox events (the option sandbox).',
  ],
  [
    503,
    'The app cannot process deliveries now. Check its store, its key function, and what its handlers wait for.',
  ],
]);

/** A cause that the answer itself shows, whatever was sent. */
function causeInAnswer({ status, text }: Answered): string | undefined {
  if (status >= 300 && status < 400) {
    return 'Senders do not follow redirects. Register the URL that this one redirects to.';
  }
  // receiver() names the code; a hand-written check fails when it hashes an object.
  const consumed = /BODY_CONSUMED|must be of type string or an instance of Buffer/.test(text);
  return status >= 500 && consumed ? PARSED_FIRST : undefined;
}

function unanswered(expected: ExpectedResult, { failure }: Reply): string {
  if (failure !== 'TIMED_OUT') {
    return expected === 'limited'
      ? 'The connection was closed before an answer. Send 413 and keep reading for a moment, so that the sender learns why.'
      : 'Answer every delivery. See the log for what closed the connection.';
  }
  return expected === 'timed-out'
    ? 'It did not stop reading within --timeout. If its own limit is longer, raise --timeout. If it has none, a few slow clients can exhaust it: limit the time for the whole body (bodyTimeout of receiver()).'
    : 'It did not answer within --timeout. Answer faster and move long work to a queue, or raise --timeout.';
}

function errorCode(text: string): string {
  const [, found] = /"code":"([A-Z_]{1,40})"/.exec(text) ?? [];
  return found === undefined ? '' : ` It answered ${found}; docs/errors.md says what that means.`;
}
