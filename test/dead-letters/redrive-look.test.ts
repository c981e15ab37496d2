// One look of redrive at the letters: what fails alone, what is logged, and how long it waits for the next look.
import { describe, expect, test } from '@jest/globals';
import { type DeadLetterStore, memoryDeadLetters, memoryStore, type ReceiverOptions } from 'payment-webhooks';
import { DeadLetterCalls } from '../../src/dead-letters/dead-letter-calls.js';
import { Redrive } from '../../src/dead-letters/redrive.js';
import { InFlightLimiter } from '../../src/deliveries/in-flight-limiter.js';
import { type Configuration, resolveOptions } from '../../src/options/options.js';
import { captureLog } from '../setup/captured-log.js';
import { KEY } from '../setup/delivery.js';
import { startReceiver } from '../setup/endpoint.js';
import { faultyDeadLetters, lettersOf } from '../setup/faulty-dead-letters.js';
import { type Fault, faultyStore, rejects, times } from '../setup/faulty-store.js';
import { aLetter } from '../setup/letters.js';
import { down } from '../setup/raise.js';

/** The redrive of a receiver, which looks only when the test says so. */
function redriveOf(deadLetters: DeadLetterStore, options: ReceiverOptions = {}) {
  const log = captureLog();
  const given = { privateKey: KEY, logger: log.logger, deadLetters, redrive: true, ...options };
  const config = resolveOptions(given, memoryStore);
  const calls = new DeadLetterCalls(deadLetters, { log: log.logger }, config.storeTimeout);
  const rules = config.redrive as NonNullable<Configuration['redrive']>;
  const redrive = new Redrive(config, rules, calls, new InFlightLimiter(10));
  const errors = () => log.lines.filter(({ level }) => level === 50);
  return { look: () => redrive.run(), errors, handlers: config.handlers };
}

/** Grants a claim that throws when a named handler is looked up in it: what the receiver does not expect. */
const brokenClaim: Fault = async (real) => {
  const { claim, ...granted } = (await real()) as { claim: object };
  const finished = Object.assign([], { includes: down });
  return { ...granted, claim: { ...claim, finished } };
};

describe('an unexpected error while one letter is replayed', () => {
  const line = {
    msg: 'replay',
    code: 'HANDLER_FAILED',
    hint: expect.stringContaining('The replay itself failed.'),
    error: expect.objectContaining({ type: 'Error' }),
  };

  /** Two letters that failed: the claim of the first will be broken. */
  async function twoLetters() {
    const [store, deadLetters] = [faultyStore(), memoryDeadLetters()];
    const endpoint = startReceiver({ store, deadLetters, handlers: { '*': down } });
    await endpoint.post();
    await endpoint.post();
    const events = (await endpoint.letters()).map(({ eventId }) => eventId);
    store.faults.claim = times(1, brokenClaim);
    return { store, deadLetters, events };
  }

  test('is logged by redrive, which goes on with the letters behind it', async () => {
    const { store, deadLetters, events } = await twoLetters();
    const { look, errors, handlers } = redriveOf(deadLetters, { store, redrive: { delays: [1] } });
    const ran: string[] = [];
    handlers.on('*', ({ id }: { id: string }) => void ran.push(id), { name: 'book' });
    await look();
    expect(ran).toEqual([events[1]]);
    expect(errors()).toContainEqual(expect.objectContaining(line));
  });

  test('is a failed letter in the report of a replay, which goes on too', async () => {
    const { store, deadLetters, events } = await twoLetters();
    const { hooks, log } = startReceiver({ store, deadLetters, handlers: {} });
    const ran: string[] = [];
    hooks.on('*', ({ id }) => void ran.push(id), { name: 'book' });
    expect(await hooks.deadLetters?.replay()).toMatchObject({ failed: 1, processed: 1 });
    expect(ran).toEqual([events[1]]);
    expect(log.lines).toContainEqual(expect.objectContaining({ level: 50, ...line }));
    expect(await lettersOf(hooks)).toMatchObject([{ eventId: events[0], reason: 'failed' }]);
  });
});

describe('a look that fails', () => {
  test('by an unexpected error says so', async () => {
    const deadLetters = faultyDeadLetters();
    await deadLetters.keep(aLetter());
    // No caller expects an issue that is null.
    deadLetters.faults.list = async (real) => {
      const { letters } = (await real()) as { letters: object[] };
      return { letters: letters.map((letter) => ({ ...letter, code: 'RETRY_LATER', issues: [null] })) };
    };
    const { look, errors } = redriveOf(deadLetters);
    await look();
    const msg = 'redrive was stopped by an unexpected error, and will look again';
    expect(errors()).toMatchObject([{ msg, error: { type: 'TypeError' } }]);
  });

  test('as the store of letters is down leaves only the line of that call', async () => {
    const { look, errors } = redriveOf(faultyDeadLetters({ list: rejects }));
    await look();
    expect(errors()).toMatchObject([{ msg: expect.stringMatching(/^the dead letters were not listed: /) }]);
  });
});

describe('many waiting letters', () => {
  const HOUR = 3_600_000;

  /** Letters that are due in two seconds, from a store that answers at once. */
  async function storeOf(count: number): Promise<DeadLetterStore> {
    const store = memoryDeadLetters();
    await store.keep(aLetter());
    const { letters } = await store.list({ namespace: 'default', discarded: false }, { limit: 1 });
    const keptAt = new Date(Date.now() - HOUR + 2_000);
    const waiting = Array.from({ length: count }, (_, id) => ({ ...letters[0], id: `${id}`, keptAt }));
    return Object.assign(store, { list: () => ({ letters: waiting }) });
  }

  test.each([
    [5_000, '30s', 5_000],
    [7_000, '30s', 7_000],
    [7_000, '6s', 6_000],
  ])('%i of them, with every: %j, are looked at again after %i ms', async (count, every, ms) => {
    const { look } = redriveOf(await storeOf(count), { redrive: { delays: [HOUR], every } });
    expect(await look()).toBe(ms);
  });

  test('do not block others: they get a turn between two pages', async () => {
    const order: string[] = [];
    let page = 0;
    const list = () => {
      page += 1;
      order.push(`page ${page}`);
      setImmediate(() => order.push('others'));
      return { letters: [], next: page < 3 ? `${page}` : undefined };
    };
    const deadLetters = Object.assign(memoryDeadLetters(), { list }) as unknown as DeadLetterStore;
    const { look } = redriveOf(deadLetters, { redrive: { reasons: ['failed'] } });
    await look();
    expect(order).toEqual(['page 1', 'others', 'page 2', 'others', 'page 3']);
  });
});
