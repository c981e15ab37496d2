// One sender's deliveries to one store: what is sent how, and which answers are right.
import { createHmac, randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { fixtures } from 'payment-webhooks/testing';
import { type Manner, PRIVATE_KEY, type StoreName, type Tally } from './merchant.js';
import { type Letter, post, type Way } from './post.js';

/** Of a thousand deliveries so many. */
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
/** What asks for another delivery, of an event that is at work, late, or met a store that was busy. */
const PUT_OFF = /^503 .*"code":"(?:IN_PROGRESS|HANDLER_TIMEOUT|STORE_UNAVAILABLE)"}$/;
const FAILED = /^500 .*"code":"HANDLER_FAILED"}$/;

const sign = (body: Buffer, key = PRIVATE_KEY) => createHmac('sha256', key).update(body).digest('hex');

export class Customer {
  /** Milliseconds of ordinary deliveries, since somebody last took them away. */
  latencies: number[] = [];
  #agent = new Agent({ keepAlive: true });
  readonly #ids: string;
  readonly #ports: readonly number[];
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #recent: Letter[] = [];
  readonly #surprises = new Map<string, number>();
  #made = 0;
  #attempts = 0;
  #broken = 0;
  #putOff = 0;

  constructor(store: StoreName, sender: string, ports: readonly number[]) {
    this.#ids = `${store}-${sender}`;
    this.#ports = ports;
  }

  get tally(): Tally {
    return {
      made: this.#made,
      attempts: this.#attempts,
      broken: this.#broken,
      putOff: this.#putOff,
      surprises: Object.fromEntries(this.#surprises),
    };
  }

  /** One delivery of any kind, until nothing is left to be done for it; none while so many are under way. */
  deliver(most: number): void {
    if (this.#underWay.size >= most) return;
    const delivery = this.#kinds[drawn()]().finally(() => this.#underWay.delete(delivery));
    this.#underWay.add(delivery);
  }

  /** Waits until everything is settled, and closes the connections that are kept alive. */
  async rest(): Promise<void> {
    await Promise.all(this.#underWay);
    this.#agent.destroy();
    this.#agent = new Agent({ keepAlive: true });
  }

  readonly #kinds: Readonly<Record<Kind, () => Promise<unknown>>> = {
    ordinary: async () => {
      const began = performance.now();
      await this.#untilTaken(this.#event('quick'));
      this.latencies.push(performance.now() - began);
    },
    'sent twice at once': () => {
      const letter = this.#event('quick');
      return Promise.all([this.#untilTaken(letter), this.#untilTaken(letter)]);
    },
    'sent again later': async () => {
      const letter = this.#recent[Math.floor(Math.random() * this.#recent.length)];
      if (letter) await this.#untilAnswered(letter, DUPLICATE);
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
    'sent slowly': () => this.#untilTaken(this.#event('quick'), 'in pieces'),
    'never sent to the end': async () => {
      const letter = this.#event('quick');
      this.#expect(await this.#post(letter, 'stuck'), /^408 .*"BODY_TIMEOUT"/);
      await this.#untilTaken(letter);
    },
    'aborted halfway': () => this.#untilTaken(this.#event('quick'), 'aborted halfway'),
    'aborted at the end': () => this.#untilTaken(this.#event('quick'), 'aborted at the end'),
    'handled slowly': () => this.#untilTaken(this.#event('slow')),
    'handled late': () => this.#untilTaken(this.#event('late')),
    'failing at first': () => this.#untilTaken(this.#event('failing')),
  };

  #event(manner: Manner): Letter {
    this.#made += 1;
    const id = `${this.#ids}-${this.#made}`;
    const event = fixtures.transactionPaid({ id, payload: { transaction: { order_id: manner } } });
    const body = Buffer.from(JSON.stringify(event));
    return { body, signature: sign(body) };
  }

  async #untilTaken(letter: Letter, way: Way = 'whole'): Promise<void> {
    await this.#untilAnswered(letter, PROCESSED, way);
    this.#recent.push(letter);
    if (this.#recent.length > REMEMBERED) this.#recent.shift();
  }

  /** As the service does it, again and again; only the first attempt is made in that way. */
  async #untilAnswered(letter: Letter, right: RegExp, way: Way = 'whole'): Promise<void> {
    for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt += 1) {
      const answer = await this.#post(letter, attempt === 1 ? way : 'whole');
      if (answer === undefined) {
        if (attempt > 1 || !way.startsWith('aborted')) this.#broken += 1;
      } else if (PUT_OFF.test(answer)) this.#putOff += 1;
      else if (!FAILED.test(answer)) return this.#expect(answer, right);
      await pause(RETRY_MS);
    }
    this.#surprise('nothing that lasts');
  }

  async #post(letter: Letter, way: Way): Promise<string | undefined> {
    this.#attempts += 1;
    const port = this.#ports[Math.floor(Math.random() * this.#ports.length)] ?? 0;
    const { status, body } = await post({ port, agent: this.#agent }, letter, way);
    return status === undefined ? undefined : `${status} ${body}`;
  }

  #expect(answer: string | undefined, right: RegExp): void {
    if (answer === undefined || !right.test(answer)) this.#surprise(answer ?? 'nothing');
  }

  #surprise(what: string): void {
    this.#surprises.set(what, (this.#surprises.get(what) ?? 0) + 1);
  }
}

function drawn(): Kind {
  let left = Math.random() * Object.values(SHARES).reduce((sum, share) => sum + share, 0);
  for (const [kind, share] of Object.entries(SHARES)) {
    left -= share;
    if (left < 0) return kind as Kind;
  }
  return 'ordinary';
}
