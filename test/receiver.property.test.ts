import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fixtures } from '../src/fixtures/fixture.js';
import { hmac, KEY, SANDBOX_KEY } from './setup/delivery.js';
import { type OwnProcess, startOwnProcess } from './setup/own-process.js';
import { head, openSocket } from './setup/raw-socket.js';

/** Every status of the table, and 431, which Node itself answers to too many headers. */
const STATUSES = new Set([200, 400, 401, 408, 413, 415, 422, 431, 500, 503]);

let receivers: OwnProcess;
beforeAll(async () => {
  receivers = await startOwnProcess({ privateKey: [KEY, SANDBOX_KEY], limit: '8kb', bodyTimeout: 60 });
});
afterAll(() => receivers.stop());

/** Few ids, so that events come again. */
const id = fc.oneof({ weight: 4, arbitrary: fc.constantFrom('e-1', 'e-2', 'e-3') }, fc.uuid(), fc.string());
const eventName = fc.oneof(
  { weight: 6, arbitrary: fc.constant('transaction.paid') },
  fc.constantFrom('refund.made', '__proto__.x', 'transaction.*', ''),
  fc.string(),
);
const event = fc
  .record({
    id,
    name: eventName,
    sandbox: fc.boolean(),
    status: fc.integer(),
    metadata: fc.dictionary(fc.string(), fc.jsonValue()),
  })
  .map(({ id, name, sandbox, status, metadata }) => {
    const good = fixtures.transactionPaid({ sandbox, payload: { transaction: { status } } });
    return JSON.stringify({ ...good, id, event_name: name, payload: { ...good.payload, metadata } });
  });
const content = fc.oneof(
  { weight: 8, arbitrary: event.map((text) => Buffer.from(text)) },
  fc.json().map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 20_000, size: 'large' }).map((bytes) => Buffer.from(bytes)),
);
/** Mostly none: places at which a byte is changed. */
const damage = fc.oneof(
  { weight: 5, arbitrary: fc.constant([]) },
  fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 }),
);
const signature = fc.oneof(
  { weight: 6, arbitrary: fc.constant('right' as const) },
  fc.constantFrom('twice', 'none', 'upper case', 'of another key', 'of a sandbox key' as const),
);
const token = fc
  .stringMatching(/^[a-z][a-z0-9-]{0,20}$/)
  .filter((name) => !/^(x-service|content-l|transfer|connection|host|expect|upgrade)/.test(name));
const extraHeaders = fc.oneof(
  { weight: 4, arbitrary: fc.constant([] as [string, string][]) },
  fc.array(fc.tuple(token, fc.stringMatching(/^[ -~\u00a1-\u00ff]{0,40}$/)), { maxLength: 5 }),
  fc
    .tuple(fc.constantFrom('content-type', 'content-encoding'), fc.stringMatching(/^[ -~]{0,30}$/))
    .map((pair) => [pair]),
);
const framing = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('declared' as const, 'chunked' as const) },
  fc.constantFrom('too short', 'too long' as const),
);

const request = fc.record({
  port: fc.nat(2),
  content,
  damageBefore: damage,
  damageAfter: damage,
  signature,
  extraHeaders,
  framing,
  /** Sizes of what is written at once, over and over. */
  pieces: fc.array(fc.integer({ min: 1, max: 4_000 }), { minLength: 1, maxLength: 5 }),
});

test('whatever arrives, an answer is in the table, and only proven bytes reach a handler', async () => {
  /** What ran to its end, by port: an event may be a duplicate only of one of these. */
  const completed = new Set<string>();

  const property = fc.asyncProperty(request, async (given) => {
    const signed = damaged(given.content, given.damageBefore);
    const body = damaged(signed, given.damageAfter);
    const signatures = signaturesOf(given.signature, signed);
    const answer = await post(given, body, signatures);
    const { runs, unhandled } = await receivers.report();
    expect(unhandled).toEqual([]);

    for (const run of runs) {
      // "Too long" declares less than is sent, and what is declared is the body.
      const proven = Buffer.from(run.body, 'base64');
      expect(signatures).toEqual([run.signature]);
      expect([hmac(proven, KEY), hmac(proven, SANDBOX_KEY)]).toContain(run.signature);
      expect(body.subarray(0, proven.length)).toEqual(proven);
    }
    expect(runs.length).toBeLessThanOrEqual(1);

    const { status, outcome } = answer;
    if (status !== undefined) expect(STATUSES).toContain(status);
    else expect(given.framing).toMatch(/^too/);
    const sent = parse(body);
    const key = `${given.port} ${sent?.sandbox} ${sent?.id}`;
    const resolved = runs.length === 1 && Number(sent?.payload?.transaction?.status) >= 0;
    if (status === 200) {
      expect(['processed', 'duplicate', 'ignored']).toContain(outcome);
      if (outcome === 'processed') expect(resolved).toBe(true);
      if (outcome === 'duplicate') expect(completed).toContain(key);
      if (outcome === 'ignored') expect(sent?.event_name).not.toBe('transaction.paid');
    }
    if (resolved) completed.add(key);
  });
  await fc.assert(property, { numRuns: 200 });
  expect((await receivers.report()).inFlight).toBe(0);
  expect(completed.size).toBeGreaterThan(5);
}, 90_000);

type Given = typeof request extends fc.Arbitrary<infer Value> ? Value : never;

function damaged(bytes: Buffer, changes: readonly (readonly [number, number])[]): Buffer {
  const copy = Buffer.from(bytes);
  for (const [place, byte] of changes) if (copy.length > 0) copy[place % copy.length] = byte;
  return copy;
}

function signaturesOf(kind: Given['signature'], body: Buffer): string[] {
  return {
    right: [hmac(body)],
    twice: [hmac(body), hmac(body)],
    none: [],
    'upper case': [hmac(body).toUpperCase()],
    'of another key': [hmac(body, 'pri_other')],
    'of a sandbox key': [hmac(body, SANDBOX_KEY)],
  }[kind];
}

async function post({ port, extraHeaders, framing, pieces }: Given, body: Buffer, signatures: string[]) {
  const sender = await openSocket(receivers.ports[port] ?? 0);
  const difference = { declared: 0, chunked: 0, 'too short': 5, 'too long': -5 }[framing];
  const length = Math.max(body.length + difference, 0);
  const lines: [string, string | number][] = [
    ['connection', 'close'],
    framing === 'chunked' ? ['transfer-encoding', 'chunked'] : ['content-length', length],
    ...signatures.map((value): [string, string] => ['X-Service-Signature', value]),
    ...extraHeaders,
  ];
  sender.write(Buffer.from(head(lines), 'latin1'));
  for (let at = 0, turn = 0; at < body.length; turn += 1) {
    const piece = body.subarray(at, at + (pieces[turn % pieces.length] ?? 1));
    at += piece.length;
    const chunk = [Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')];
    sender.write(framing === 'chunked' ? Buffer.concat(chunk) : piece);
    if (turn < 5) await new Promise(setImmediate);
  }
  if (framing === 'chunked') sender.write('0\r\n\r\n');
  const answer = await sender.closed;
  const [, status] = /^HTTP\/1\.1 (\d+)/.exec(answer) ?? [];
  const [, outcome] = /"outcome":"(\w+)"/.exec(answer) ?? [];
  return { status: status === undefined ? undefined : Number(status), outcome };
}

interface Sent {
  id?: string;
  event_name?: string;
  sandbox?: boolean;
  payload?: { transaction?: { status?: number } };
}

function parse(body: Buffer): Sent | undefined {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
