// What came back for a check -> pass or fail, and for a failure the cause and the cure.
import type { Check, Owed } from './battery.js';
import type { Reply } from './probe.js';

export interface Judgement {
  readonly passed: boolean;
  /** What came back, in a few words. */
  readonly got: string;
  readonly cure?: string;
}

const PARSED_FIRST =
  'express.json() runs before receiver() and keeps no bytes, so no signature can be checked. Move app.post(…, receiver()) above the line app.use(express.json()), or change that line to app.use(express.json({ verify: keepRawBody })), with keepRawBody from payment-webhooks.';
const REENCODED =
  'The signature is checked over JSON that was parsed and encoded again, as in JSON.stringify(req.body). Check it over the raw bytes: receiver() does, when it comes before express.json().';

export function judge({ owed, name }: Check, reply: Reply): Judgement {
  const got = reply.status === undefined ? reply.message : String(reply.status);
  if (passes(owed, reply)) return { passed: true, got };
  const cure =
    causeInside(reply) ?? (reply.status === undefined ? unanswered(owed, reply) : CURES[owed](reply, name));
  return { passed: false, got, cure };
}

function passes(owed: Owed, reply: Reply): boolean {
  const { status } = reply;
  if (status === undefined) return owed === 'given-up' && reply.failure !== 'TIMED_OUT';
  const ok = status >= 200 && status < 300;
  const refused = status >= 400 && status < 500;
  switch (owed) {
    case 'accepted':
      return ok;
    case 'remembered':
      return ok && outcome(reply) !== 'processed';
    case 'refused':
    case 'not-found':
    case 'given-up':
      return refused;
    // Whether content that nobody can use is refused or passed over is the endpoint's own affair.
    case 'unusable':
    case 'limited':
      return ok || refused;
  }
}

type Answered = Extract<Reply, { status: number }>;

const CURES: Readonly<Record<Owed, (reply: Answered, name: string) => string>> = {
  accepted: ({ status, text }, name) => {
    if (status === 401 && name.includes('spacing')) return REENCODED;
    return ACCEPTED_CURES.get(status) ?? `It should have been accepted with a 2xx.${code(text)}`;
  },
  remembered: () =>
    'The event was handled twice. Senders repeat deliveries: keep a store (the default memoryStore(), or redisStore() for several processes), and not store: false.',
  refused: ({ status }, name) => {
    if (status >= 300)
      return 'Check the signature before anything else, and answer 401: after a 5xx the sender tries again.';
    if (name.includes('serialised')) return REENCODED;
    return 'A FORGED DELIVERY WAS ACCEPTED: anybody who knows the address can report payments. Check the signature over the raw bytes, in constant time, and take only 64 lower-case hexadecimal digits: mount receiver().';
  },
  unusable: () => 'Answer 4xx: after a 5xx the sender tries again what can never succeed.',
  limited: () => 'Set a limit to the body (receiver() has one of 256 KB), and answer 413.',
  'not-found': () => 'Mount the receiver for POST only: app.post(…, receiver()).',
  'given-up': () =>
    'A body that does not end should be given up with a 408: receiver() does after bodyTimeout.',
};

const ACCEPTED_CURES: ReadonlyMap<number, string> = new Map([
  [
    401,
    'A correct signature was refused. Usual causes: another key in the app than here; another header (see --header); or express.json() runs before the signature is checked.',
  ],
  [403, 'Something before the receiver refuses strangers: leave this path out of sign-in and CSRF checks.'],
  [404, 'There is no such route: compare the path with the one in app.post(…).'],
  [405, 'The route does not take POST: mount the receiver with app.post(…).'],
  [413, 'An ordinary event is too large for it: raise the option limit.'],
  [415, 'Its content type is refused: leave that to the receiver, and mount it before any body parser.'],
  [422, 'The event does not fit the schema that the app declares for transaction.paid.'],
  [
    500,
    'The app failed on a valid event; its log says why. If a handler needs its order to exist, pass over sandbox events (the option sandbox).',
  ],
  [
    503,
    'The app cannot take deliveries now: look at its store, its key function, and what its handlers wait for.',
  ],
]);

/** A cause that the answer itself gives away, whatever was sent. */
function causeInside(reply: Reply): string | undefined {
  if (reply.status === undefined) return undefined;
  if (reply.status >= 300 && reply.status < 400) {
    return 'Senders do not follow redirects: register the address that this one leads to.';
  }
  // Our receiver says so; a hand-written one fails when it hashes an object.
  const consumed =
    reply.text.includes('BODY_CONSUMED') ||
    reply.text.includes('must be of type string or an instance of Buffer');
  return reply.status >= 500 && consumed ? PARSED_FIRST : undefined;
}

function unanswered(owed: Owed, reply: Reply): string {
  if (reply.failure !== 'TIMED_OUT') {
    return owed === 'limited'
      ? 'The connection was cut before an answer: send 413 and read on for a moment, so that the sender learns why.'
      : 'Every delivery needs an answer: look in the log for what ended the connection.';
  }
  return owed === 'given-up'
    ? 'It waits for ever, so a few slow strangers can exhaust it: set a time limit to the whole body (bodyTimeout of receiver()).'
    : 'Answer within the time that the sender waits; hand long work to a queue.';
}

function outcome({ text }: { readonly text?: string }): unknown {
  try {
    return JSON.parse(text ?? '')?.outcome;
  } catch {
    return undefined;
  }
}

function code(text: string): string {
  const [, found] = /"code":"([A-Z_]{1,40})"/.exec(text) ?? [];
  return found === undefined ? '' : ` It answered ${found}; docs/errors.md says what that means.`;
}
