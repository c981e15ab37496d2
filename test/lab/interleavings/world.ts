// Two receivers, their stores, handlers and a sender under a scheduler, and what must be true of them at every step.
import fc, { type Scheduler } from 'fast-check';
import type {
  DeadLetterStore,
  HandlerContext,
  IdempotencyStore,
  Receiver,
  TransactionPaid,
} from 'payment-webhooks';
import type { HandlerClaim, OnceSync } from '../../../src/contracts/idempotency-store.js';
import { fixtures } from '../../../src/fixtures/fixture.js';
import { delivery, KEY } from '../../setup/delivery.js';
import type { Backend, Ledger } from './backends.js';
import type { Loaded } from './load.js';
import { Properties, type Run } from './properties.js';
import { hasLetter, mapped, type Through, watchedLetters, watchedStore } from './watched-stores.js';

/** What becomes of a call of a store, and how often. */
const FATES = { 'at once': 6, soon: 12, late: 2, refused: 1, broken: 1, lost: 1 };
/** What a handler does. `gives up`: it takes its signal, and returns when that aborts. */
const BEHAVIOURS = {
  ...{ succeeds: 1, 'succeeds late': 4, fails: 1, 'fails late': 2 },
  ...{ 'retries later': 1, refuses: 1, 'gives up': 3, hangs: 1 },
};
/** What becomes of a statement of several calls. */
const BATCH_FATES = { answers: 6, 'answers late': 3, late: 2, fails: 1, breaks: 2, lost: 1 };
type Fate = keyof typeof FATES;
type BatchFate = keyof typeof BATCH_FATES;
type Behaviour = keyof typeof BEHAVIOURS;

function listOf<Value extends string>(weights: Readonly<Record<Value, number>>, maxLength: number) {
  const entries = Object.entries(weights) as [Value, number][];
  const weighted = entries.map(([value, weight]) => ({ weight, arbitrary: fc.constant(value) }));
  return fc.array(fc.oneof(...weighted), { maxLength, size: 'max' });
}

/** What is drawn for one run, besides the order. When a list is over, calls answer soon and handlers succeed. */
export const plans = fc.record({
  letters: fc.constantFrom('none', 'letters', 'journal'),
  /** Whether handlers write inside `once`. */
  once: fc.boolean(),
  /** To which receiver each of three deliveries of two events goes. */
  to: fc.array(fc.nat(1), { minLength: 6, maxLength: 6 }),
  fates: listOf(FATES, 50),
  batchFates: listOf(BATCH_FATES, 20),
  /** How many deliveries arrive in the same moment, so that their calls of the store share a statement. */
  wave: fc.integer({ min: 1, max: 3 }),
  behaviours: listOf(BEHAVIOURS, 10),
  crashes: fc.nat(2),
  blocks: fc.nat(2),
  replays: fc.nat(2),
});
type Plan = typeof plans extends fc.Arbitrary<infer Value> ? Value : never;

/** A process: once it is killed nothing that it does is seen. */
interface Process {
  alive: boolean;
  hooks: Receiver;
}

/** Work pushes what it writes, which happens when it is committed. */
type Once = (work: (writes: (() => void)[]) => unknown) => Promise<void>;

const LEASE_MS = 9_000;
const NEVER = new Promise<never>(() => {});

function unheard(answer: unknown): void {
  if (answer instanceof Promise) answer.catch(() => {});
}

export class World {
  readonly #scheduler: Scheduler;
  readonly #plan: Plan;
  readonly #loaded: Loaded;
  readonly #backend: Backend;
  /** Written by the real `once`; undefined: by that of this world. */
  readonly #ledger: Ledger | undefined;
  readonly #letters: DeadLetterStore | undefined;
  readonly #processes: Process[];
  readonly #events = [fixtures.transactionPaid({ id: 'first' }), fixtures.transactionPaid({ id: 'second' })];
  /** Events of which a row of `once` is committed. */
  readonly #rows = new Set<string>();
  #fates: Fate[];
  #batchFates: BatchFate[];
  #behaviours: Behaviour[];
  #calm = false;
  #ticking = false;
  /** What happened, step by step. */
  readonly order: string[] = [];
  readonly #properties: Properties;

  constructor(scheduler: Scheduler, plan: Plan, loaded: Loaded, backend: Backend) {
    const { letters, ledger } = backend;
    this.#scheduler = scheduler;
    this.#plan = plan;
    this.#loaded = loaded;
    this.#properties = new Properties(loaded.clock, (line) => this.order.push(line));
    this.#fates = [...plan.fates];
    this.#behaviours = [...plan.behaviours];
    this.#batchFates = [...plan.batchFates];
    this.#backend = backend;
    backend.onBatch = (send) => this.#batch(send);
    this.#ledger = ledger;
    this.#letters = plan.letters === 'none' ? undefined : letters;
    this.#processes = [this.#startProcess(), this.#startProcess()];
  }

  get violations(): readonly string[] {
    return this.#properties.violations;
  }

  /** Everything happens in the order of the scheduler, until nothing is left to happen. */
  async run(): Promise<void> {
    const { to, wave } = this.#plan;
    for (let number = 0; number < to.length; number += wave) {
      const events = to
        .slice(number, number + wave)
        .map((_, index) => this.#events[(number + index) % 2] as TransactionPaid);
      void this.#later(`deliver ${events.map(({ id }) => id).join(', ')}`).then(() => {
        for (const event of events) void this.#deliver(this.#process(to[number] ?? 0), event);
      });
    }
    for (let crash = 0; crash < this.#plan.crashes; crash += 1)
      void this.#later(`kill receiver ${crash}`).then(() => {
        this.#process(crash).alive = false;
        this.#processes[crash] = this.#startProcess();
      });
    // For longer than a lease: no timer goes off, and no claim is renewed.
    for (let block = 0; block < this.#plan.blocks; block += 1)
      void this.#later('the event loop is blocked').then(() => {
        this.#loaded.clock.now += 2 * LEASE_MS;
      });
    if (this.#letters)
      for (let replay = 0; replay < this.#plan.replays; replay += 1)
        void this.#later('replay').then(() =>
          this.#process(replay)
            .hooks.deadLetters?.replay()
            .catch(() => {}),
        );
    await this.#drain();
    await this.#end();
  }

  /** The cause of all failures is fixed, and what is left is replayed. */
  async #end(): Promise<void> {
    this.#calm = true;
    this.#loaded.clock.now += 3_600_000;
    const { hooks } = this.#startProcess();
    if (this.#letters) {
      void hooks.deadLetters
        ?.replay()
        .catch((error) => this.#properties.violated(`the last replay failed: ${error}`));
      await this.#drain();
    }
    for (const { id } of this.#events) {
      const lines = (this.#plan.once && this.#ledger?.lines(id)) || 0;
      this.#properties.atEnd(id, {
        letter: this.#letters !== undefined && (await hasLetter(this.#letters, id)),
        lines,
      });
      if (this.#properties.completed.has(id) && this.#backend.isCompleted?.(id) === false)
        this.#properties.violated(`END: ${id} was answered as completed, and is not`);
    }
  }

  async #drain(): Promise<void> {
    const { clock } = this.#loaded;
    for (;;) {
      do await new Promise(setImmediate);
      while (clock.turns);
      if (clock.waits && !this.#ticking && !this.#calm) {
        this.#ticking = true;
        void this.#later('time passes').then(() => {
          this.#ticking = false;
          clock.advance();
        });
      }
      if (this.#scheduler.count() > 0) await this.#scheduler.waitNext(1);
      else if (clock.waits) clock.advance();
      else return;
    }
  }

  #later<Value>(label: string, value?: Value): Promise<Value | undefined> {
    return this.#scheduler.schedule(Promise.resolve(value), label).then((scheduled) => {
      this.order.push(label);
      return scheduled;
    });
  }

  #process(number: number): Process {
    return this.#processes[number] as Process;
  }

  #startProcess(): Process {
    const process = { alive: true } as Process;
    const letters = this.#letters;
    process.hooks = this.#loaded.door.receiver({
      privateKey: KEY,
      logger: false,
      store: this.#storeOf(process),
      ...(letters && {
        deadLetters: watchedLetters(letters, this.#properties, (name, effect) =>
          this.#call(process, name, effect),
        ),
        journal: this.#plan.letters === 'journal',
      }),
      lease: LEASE_MS,
      timeout: 5_000,
      maxHandlerTime: 30_000,
      storeTimeout: 2_000,
      handlers: { 'transaction.paid': (event, context) => this.#handle(process, event, context) },
    });
    return process;
  }

  async #deliver(process: Process, event: TransactionPaid): Promise<void> {
    const { body, headers } = delivery(event);
    const answer = await process.hooks.receive({ rawBody: body, headers });
    if (!process.alive) return;
    const { outcome, code } = JSON.parse(answer.body);
    this.order.push(`${event.id} is answered ${answer.status} ${outcome ?? code}`);
    const letter = this.#letters && (await hasLetter(this.#letters, event.id));
    this.#properties.answer(event.id, { status: answer.status, outcome, code }, letter);
  }

  async #handle(process: Process, event: TransactionPaid, context: HandlerContext & { once?: Once }) {
    if (!process.alive) return NEVER;
    const { id } = event;
    const run: Run = { process, event: id, lease: `${id} ${context.attempt}` };
    this.#properties.begin(run);
    this.order.push(`the handler of ${id} starts, attempt ${context.attempt}`);
    if (this.#plan.letters === 'journal') this.#properties.owed.add(id);
    const write = () => void this.#properties.handled.add(id);
    // Without a claim there is none, and the context has one that throws.
    const once = Object.hasOwn(context, 'once') ? context.once : undefined;
    try {
      const ledger = this.#ledger;
      if (ledger) await this.#behave(context, () => this.#write(process, id, ledger, once));
      else if (once) await once((writes) => this.#behave(context, () => writes.push(write)));
      else await this.#behave(context, () => process.alive && write());
    } finally {
      this.#properties.end(run);
    }
  }

  /** With a synchronous driver the transaction is one call, in which nobody can be killed. */
  #write({ alive }: Process, id: string, ledger: Ledger, once: unknown): void {
    if (!alive) return;
    if (once) (once as OnceSync<object>)(() => ledger.write(id));
    else ledger.write(id);
    this.#properties.handled.add(id);
  }

  async #behave(context: HandlerContext, succeed: () => unknown): Promise<void> {
    const { NonRetriableError, RetryAfterError } = this.#loaded.door;
    const behaviour = this.#calm ? 'succeeds' : (this.#behaviours.shift() ?? 'succeeds late');
    switch (behaviour) {
      case 'succeeds late':
        await this.#later('a handler succeeds');
        succeed();
        return;
      case 'fails late':
        await this.#later('a handler fails');
        throw new Error('fails late');
      case 'fails':
        throw new Error('fails');
      case 'retries later':
        throw new RetryAfterError('30s');
      case 'refuses':
        if (this.#letters) throw new NonRetriableError();
        throw new Error('refuses');
      case 'gives up': {
        const { signal } = context;
        await Promise.race([
          this.#later('a handler with a signal goes on'),
          new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true })),
        ]);
        if (!signal.aborted) succeed();
        return;
      }
      case 'hangs':
        return NEVER;
      default:
        succeed();
    }
  }

  /** A call of a store, with the fate that is next. Of a process that was killed no call arrives. */
  #call<Value>(process: Process, name: string, effect: () => Value | Promise<Value>): Value | Promise<Value> {
    if (!process.alive) return NEVER;
    const fate = this.#calm ? 'at once' : (this.#fates.shift() ?? 'soon');
    const answer = (given: Value | Promise<Value>) =>
      mapped(given, (value) => this.#later(`${name} answers`, value)) as Promise<Value>;
    switch (fate) {
      case 'at once':
        return effect();
      case 'soon':
        return answer(effect());
      case 'late':
        return this.#later(`${name} is done`).then(() => answer(effect()));
      case 'refused':
        return Promise.reject(new Error('refused'));
      case 'broken':
        unheard(effect());
        return this.#later(`${name} breaks`).then(() => Promise.reject(new Error('broken')));
      case 'lost':
        unheard(effect());
        return NEVER;
    }
  }

  /** Of a synchronous driver that answers when it likes: the SQL is the same, and nothing else runs within a statement. */
  #batch(send: () => unknown): unknown {
    const fate = this.#calm ? 'answers' : (this.#batchFates.shift() ?? 'answers');
    const what = 'a statement of several calls';
    this.order.push(`${what}: ${fate}`);
    switch (fate) {
      case 'answers':
        return send();
      case 'answers late': {
        const rows = send();
        return this.#later(`${what} answers`, rows);
      }
      case 'late':
        return this.#later(`${what} is done`).then(() => send());
      case 'fails':
        throw new Error('refused');
      case 'breaks':
        send();
        throw new Error('broken');
      case 'lost':
        send();
        return NEVER;
    }
  }

  #storeOf(process: Process): IdempotencyStore<{ once?: Once }> {
    const through: Through = (name, effect) => this.#call(process, name, effect);
    return watchedStore(this.#backend.openStore(), this.#properties, through, (claim, id) =>
      this.#plan.once
        ? {
            forHandler: (name: string, beforeCommit?: () => void) =>
              this.#ledger
                ? (claim.forHandler?.(name, beforeCommit) as HandlerClaim<{ once: Once }>)
                : this.#handlerClaim(process, id, beforeCommit),
          }
        : {},
    );
  }

  /** As a SQL store has it: the row and the writes are in one commit, and of two attempts the second finds the row. */
  #handlerClaim(
    process: Process,
    id: string,
    beforeCommit: (() => void) | undefined,
  ): HandlerClaim<{ once: Once }> {
    let wrote = false;
    let failure: unknown;
    const once: Once = async (work) => {
      try {
        const writes: (() => void)[] = [];
        if (!(await this.#call(process, 'once begins', () => this.#rows.has(id)))) {
          await work(writes);
          beforeCommit?.();
          await this.#call(process, 'once commits', () => {
            if (this.#rows.has(id)) return;
            this.#rows.add(id);
            for (const write of writes) write();
          });
        }
        wrote = true;
      } catch (error) {
        failure = error;
        throw error;
      }
    };
    return { context: { once }, end: () => ({ failure, wrote }) };
  }
}
