// A receiver that waits before each step that others can see, until it is told what becomes of the step.
import type {
  Claim,
  DeadLetterStore,
  HandlerContext,
  IdempotencyStore,
  Receiver,
  TransactionPaid,
} from 'payment-webhooks';
import type { Once } from 'payment-webhooks/stores/sql';
import { KEY } from '../../setup/delivery.js';
import type { Sqlite } from '../../setup/open-sqlite.js';
import type { Loaded } from './load.js';
import type { Properties, Run } from './properties.js';
import { type Through, watchedLetters, watchedStore } from './watched-stores.js';

/** The calls of stores that the model has. All others are answered at once. */
const AWAITED = new Set(['claim', 'complete', 'release', 'completedWith', 'keep', 'update', 'remove']);

interface Ask {
  readonly call: string;
  /** The answer is given to the code when its next step is due. */
  obey(): Promise<unknown>;
  refuse(): void;
}

export interface Handler {
  readonly name: 'writes' | 'other';
  readonly context: HandlerContext & { readonly once?: Once<Sqlite> };
  settle(error?: unknown): void;
  /** It has called `once`. */
  called: boolean;
}

/** A transaction of `once` whose work is done. */
export interface Open {
  readonly db: Sqlite;
  /** To the code. */
  answer(error?: unknown): void;
}

export interface Around {
  readonly loaded: Loaded;
  readonly properties: Properties;
  openStore(actor: Actor): IdempotencyStore<object>;
  readonly letters: DeadLetterStore | undefined;
  readonly journal: boolean;
  readonly handlers: readonly Handler['name'][];
}

export const LEASE_MS = 9_000;
/** Longer than a lease that lapses, so that only a step of its own makes handlers outlast it. */
const TIMEOUT_MS = 60_000;

/** All that the code does about what has happened. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise(setImmediate);
}

export class Actor {
  readonly hooks: Receiver;
  readonly asks: Ask[] = [];
  /** Those that run. */
  handlers: Handler[] = [];
  /** What the code has answered its deliveries. */
  readonly answers: number[] = [];
  open: Open | undefined;
  alive = true;
  #next: (() => void) | undefined;
  #run: Run | undefined;
  #refusesRenewals = false;
  readonly #around: Around;

  constructor(around: Around) {
    this.#around = around;
    const { loaded, properties, letters, journal, handlers } = around;
    const onceOf = ({ forHandler }: Claim<object>) => (forHandler ? { forHandler } : {});
    const store = watchedStore(around.openStore(this), properties, this.#through, onceOf);
    this.hooks = loaded.door.receiver({
      ...{ privateKey: KEY, logger: false, store },
      ...(letters && { deadLetters: watchedLetters(letters, properties, this.#through), journal }),
      ...{ lease: LEASE_MS, timeout: TIMEOUT_MS, maxHandlerTime: 2 * TIMEOUT_MS, storeTimeout: 2_000 },
    });
    for (const name of handlers)
      this.hooks.on('transaction.paid', (event, context) => this.#handle(name, event, context), { name });
  }

  get clock(): Loaded['clock'] {
    return this.#around.loaded.clock;
  }

  get isIdle(): boolean {
    return !(this.#next || this.asks[0] || this.handlers[0] || this.open || this.clock.waits);
  }

  /** Until the trail says what becomes of the transaction. */
  holds(db: Sqlite): Promise<void> {
    return new Promise((resolve, reject) => {
      this.open = { db, answer: (error) => (error === undefined ? resolve() : reject(error)) };
    });
  }

  /** What it does when its next step is due. */
  later(next: () => void): void {
    this.#next = next;
  }

  async goOn(): Promise<void> {
    const next = this.#next;
    this.#next = undefined;
    next?.();
    await settle();
  }

  /** Whether the code makes this call now, and its answer is as expected. */
  async obey(call: string, expects: (given: unknown) => boolean = () => true): Promise<boolean> {
    const [ask] = this.asks;
    if (ask?.call !== call) return false;
    this.asks.shift();
    return expects(await ask.obey());
  }

  /** Of a completion, which the code tries up to three times, every try. */
  async refuse(): Promise<boolean> {
    const { call } = this.asks[0] ?? {};
    if (call === undefined) return false;
    for (let tries = 0; tries < 10 && this.answers.length === 0; tries += 1) {
      if (this.asks[0] && this.asks[0].call !== call) break;
      if (this.asks[0]) this.asks.shift()?.refuse();
      else if (call === 'complete') this.clock.advance();
      else break;
      await settle();
    }
    return true;
  }

  async outlastTimeout(): Promise<boolean> {
    for (const end = this.clock.now + TIMEOUT_MS; this.clock.waits && this.clock.now < end; await settle())
      this.clock.advance();
    return this.handlers.length > 0;
  }

  /** Takes the signal, and lets time pass without a renewal until it aborts. */
  async giveUp({ context: { signal }, settle: end }: Handler): Promise<boolean> {
    this.#refusesRenewals = true;
    for (; this.clock.waits && !signal.aborted; await settle()) this.clock.advance();
    this.#refusesRenewals = false;
    end();
    return signal.aborted;
  }

  #handle(name: Handler['name'], { id }: TransactionPaid, context: Handler['context']): Promise<void> {
    const { properties } = this.#around;
    // Two handlers are one run.
    if (this.handlers.length === 0) {
      this.#run = { process: this, event: id, lease: `${id} ${context.attempt}` };
      properties.begin(this.#run);
    }
    const run = this.#run;
    if (this.#around.journal) properties.owed.add(id);
    return new Promise((resolve, reject) => {
      const handler: Handler = {
        ...{ name, context, called: false },
        settle: (error) => {
          this.handlers = this.handlers.filter((each) => each !== handler);
          if (run && this.handlers.length === 0) properties.end(run);
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      this.handlers.push(handler);
    });
  }

  /** A process that was killed calls nothing. */
  readonly #through: Through = <Value>(name: string, effect: () => Value | Promise<Value>) => {
    if (!this.alive) return new Promise<never>(() => {});
    if (name === 'renew' && this.#refusesRenewals) return Promise.reject(new Error('refused'));
    if (!AWAITED.has(name)) return effect();
    return new Promise<Value>((resolve, reject) => {
      const obey = async () => {
        const given = await effect();
        this.#next = () => resolve(given);
        return given;
      };
      this.asks.push({ call: name, obey, refuse: () => reject(new Error('refused')) });
    });
  };
}
