// The deliveries of one sender to one store: what is sent, how, and which answers are right.
import { createHmac, randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { fixtures } from 'payment-webhooks/testing';
import { type HandlerMode, PRIVATE_KEY, type StoreName, type Totals } from './merchant.js';
import { post, type SendMode, type SignedBody } from './post.js';

/** How many of a thousand deliveries are of each kind. */
const SHARES = {
  ordinary: 690,
  'sent twice at once': 80,
  'sent again later': 50,
  forged: 60,
  unreadable: 20,
  'sent slowly': 30,
  'never sent to the end': 5,
  'aborted halfway': 20,
  'aborted at the end': 20,
  'handled slowly': 15,
  'handled late': 3,
  'failing at first': 7,
} as const;
type Kind = keyof typeof SHARES;

const RETRY_MS = 300;
const MOST_ATTEMPTS = 60;
const REMEMBERED = 100;
const PROCESSED = /^200 {"received":true,"outcome":"(?:processed|duplicate)"}$/;
const DUPLICATE = /^200 {"received":true,"outcome":"duplicate"}$/;
const UNAUTHENTICATED = /^401 {"message":"Unauthenticated."}$/;
/** Answers that ask for a retry: the event is in progress, its handler is late, or the store is busy. */
const RETRY_ASKED = /^503 .*"code":"(?:IN_PROGRESS|HANDLER_TIMEOUT|STORE_UNAVAILABLE)"}$/;
const FAILED = /^500 .*"code":"HANDLER_FAILED"}$/;

const sign = (body: Buffer, key = PRIVATE_KEY) => createHmac('sha256', key).update(body).digest('hex');

export class Load {
  /** Milliseconds of ordinary deliveries since the last report. */
  latencies: number[] = [];
  #agent = new Agent({ keepAlive: true });
  readonly #ids: string;
  readonly #ports: readonly number[];
  readonly #inFlight = new Set<Promise<unknown>>();
  readonly #recent: SignedBody[] = [];
  readonly #unexpected = new Map<string, number>();
  #made = 0;
  #attempts = 0;
  #broken = 0;
  #retriesAsked = 0;

  constructor(store: StoreName, sender: string, ports: readonly number[]) {
    this.#ids = `${store}-${sender}`;
    this.#ports = ports;
  }

  get totals(): Totals {
    return {
      made: this.#made,
      attempts: this.#attempts,
      broken: this.#broken,
      retriesAsked: this.#retriesAsked,
      unexpected: Object.fromEntries(this.#unexpected),
    };
  }

  /** Starts one delivery of a random kind, unless so many are in flight. */
  deliver(most: number): void {
    if (this.#inFlight.size >= most) return;
    const delivery = this.#kinds[randomKind()]().finally(() => this.#inFlight.delete(delivery));
    this.#inFlight.add(delivery);
  }

  /** Waits until every delivery is settled, and closes the connections that are kept alive. */
  async rest(): Promise<void> {
    await Promise.all(this.#inFlight);
    this.#agent.destroy();
    this.#agent = new Agent({ keepAlive: true });
  }

  readonly #kinds: Readonly<Record<Kind, () => Promise<unknown>>> = {
    ordinary: async () => {
      const began = performance.now();
      await this.#untilProcessed(this.#event('quick'));
      this.latencies.push(performance.now() - began);
    },
    'sent twice at once': () => {
      const signed = this.#event('quick');
      return Promise.all([this.#untilProcessed(signed), this.#untilProcessed(signed)]);
    },
    'sent again later': async () => {
      const signed = this.#recent[Math.floor(Math.random() * this.#recent.length)];
      if (signed) await this.#untilAnswered(signed, DUPLICATE);
    },
    forged: async () => {
      const body = Buffer.from(
        JSON.stringify(fixtures.transactionPaid({ id: `${this.#ids}-${randomUUID()}` })),
      );
      const altered = Buffer.from(body.toString().replace('"amount":"', '"amount":"9'));
      const signatures = [sign(body, 'pri_guessed'), sign(altered), sign(body).toUpperCase(), ''];
      const signature = signatures[Math.floor(Math.random() * signatures.length)] as string;
      await this.#untilAnswered({ body, signature }, UNAUTHENTICATED);
    },
    unreadable: async () => {
      const body = Buffer.from('{"id":"half an event"');
      await this.#untilAnswered({ body, signature: sign(body) }, /^400 .*"BODY_MALFORMED"/);
    },
    'sent slowly': () => this.#untilProcessed(this.#event('quick'), 'in pieces'),
    'never sent to the end': async () => {
      const signed = this.#event('quick');
      this.#expect(await this.#post(signed, 'stuck'), /^408 .*"BODY_TIMEOUT"/);
      await this.#untilProcessed(signed);
    },
    'aborted halfway': () => this.#untilProcessed(this.#event('quick'), 'aborted halfway'),
    'aborted at the end': () => this.#untilProcessed(this.#event('quick'), 'aborted at the end'),
    'handled slowly': () => this.#untilProcessed(this.#event('slow')),
    'handled late': () => this.#untilProcessed(this.#event('late')),
    'failing at first': () => this.#untilProcessed(this.#event('failing')),
  };

  #event(handlerMode: HandlerMode): SignedBody {
    this.#made += 1;
    const id = `${this.#ids}-${this.#made}`;
    const event = fixtures.transactionPaid({ id, payload: { transaction: { order_id: handlerMode } } });
    const body = Buffer.from(JSON.stringify(event));
    return { body, signature: sign(body) };
  }

  async #untilProcessed(signed: SignedBody, mode: SendMode = 'whole'): Promise<void> {
    await this.#untilAnswered(signed, PROCESSED, mode);
    this.#recent.push(signed);
    if (this.#recent.length > REMEMBERED) this.#recent.shift();
  }

  /** With retries, as the service does it; only the first attempt is sent in that mode. */
  async #untilAnswered(signed: SignedBody, right: RegExp, mode: SendMode = 'whole'): Promise<void> {
    for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt += 1) {
      const answer = await this.#post(signed, attempt === 1 ? mode : 'whole');
      if (answer === undefined) {
        if (attempt > 1 || !mode.startsWith('aborted')) this.#broken += 1;
      } else if (RETRY_ASKED.test(answer)) this.#retriesAsked += 1;
      else if (!FAILED.test(answer)) return this.#expect(answer, right);
      await pause(RETRY_MS);
    }
    this.#countUnexpected('nothing that lasts');
  }

  async #post(signed: SignedBody, mode: SendMode): Promise<string | undefined> {
    this.#attempts += 1;
    const port = this.#ports[Math.floor(Math.random() * this.#ports.length)] ?? 0;
    const { status, body } = await post({ port, agent: this.#agent }, signed, mode);
    return status === undefined ? undefined : `${status} ${body}`;
  }

  #expect(answer: string | undefined, right: RegExp): void {
    if (answer === undefined || !right.test(answer)) this.#countUnexpected(answer ?? 'nothing');
  }

  #countUnexpected(what: string): void {
    this.#unexpected.set(what, (this.#unexpected.get(what) ?? 0) + 1);
  }
}

function randomKind(): Kind {
  let left = Math.random() * Object.values(SHARES).reduce((sum, share) => sum + share, 0);
  for (const [kind, share] of Object.entries(SHARES)) {
    left -= share;
    if (left < 0) return kind as Kind;
  }
  return 'ordinary';
}
