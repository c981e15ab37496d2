// `hooks.deadLetters`: lists, reads, replays and discards the events that were not processed.

import type {
  DeadLetter,
  DeadLetterContent,
  DeadLetterPage,
  DeadLetterPageRequest,
  DeadLetterStore,
  Discarded,
} from '../contracts/dead-letter-store.js';
import { defaultLogger } from '../default-logger.js';
import type { InFlightLimiter } from '../deliveries/in-flight-limiter.js';
import { describeError, LETTERS_LOGGER, writeLog } from '../logger.js';
import type { Configuration } from '../options/options.js';
import type { DeadLetterCount } from '../stores/letters/count-letters.js';
import { DeadLetterCalls, listLetters } from './dead-letter-calls.js';
import { type DeadLetterFilter, queryOf } from './dead-letter-filter.js';
import { nextTry } from './due.js';
import type { ReplayOptions, ReplayReport } from './replay.js';

/** The dead letters of one receiver: those of its namespace. */
export interface DeadLetters {
  /**
   * The letters in the order of their arrival, without their bytes.
   *
   * @throws {ConfigurationError} for an unknown or invalid filter
   * @example
   * for await (const letter of hooks.deadLetters.list({ event: 'refund.*', since: '7d' })) console.log(letter.id);
   */
  list(filter?: DeadLetterFilter): AsyncIterable<DeadLetter>;
  /**
   * How many letters there are, by reason and event name. It takes one query in SQL, and reads every letter in Redis.
   *
   * @throws {ConfigurationError} for an unknown or invalid filter
   * @throws {StoreError} when the dead-letter store is down
   * @example
   * const { total, oldest } = await hooks.deadLetters.count({ reason: 'failed' });
   */
  count(filter?: DeadLetterFilter): Promise<DeadLetterCount>;
  /**
   * The letters of {@link list}, one page at a time.
   *
   * @param page.limit how many letters at most, 1 to 100; 100 by default
   * @param page.after the `next` of the page before this one
   * @returns letters, and `next` if there are more
   * @throws {ConfigurationError} for an unknown or invalid filter
   * @throws {StoreError} when the dead-letter store is down
   * @example
   * const { letters, next } = await hooks.deadLetters.page({ reason: 'failed' }, { limit: 20 });
   */
  page(filter?: DeadLetterFilter, page?: Partial<DeadLetterPageRequest>): Promise<DeadLetterPage>;
  /**
   * One letter with its exact bytes and headers. `status` is `found`; `gone` if there is no such letter; or `unreadable` if
   * the stored bytes are not those that were kept.
   *
   * @throws {StoreError} when the dead-letter store is down
   * @example
   * const content = await hooks.deadLetters.read(letter.id);
   * if (content.status === 'found') console.log(content.rawBody.toString());
   */
  read(id: string): Promise<DeadLetterContent>;
  /**
   * Runs the handlers of the selected letters, with the current schemas and under the same claim as a delivery. You can stop
   * and restart it at any point, and run it in several processes and next to deliveries.
   *
   * @throws {ConfigurationError} for an unknown or invalid filter or option
   * @throws {StoreError} when the dead-letter store is down
   * @example
   * const { processed, stillInvalid } = await hooks.deadLetters.replay({ event: 'refund.*', dryRun: true });
   */
  replay(options?: ReplayOptions): Promise<ReplayReport>;
  /** When `redrive` will next retry a letter, which may be overdue. Undefined if it will not. */
  nextTry(letter: DeadLetter): Date | undefined;
  /**
   * Permanently deletes the bytes and headers of a letter, and records who did so, why and when.
   *
   * @returns true if the letter is discarded: no handler runs for it again. False if there is no such letter, or its event is
   *   being processed: then nothing has changed
   * @throws {StoreError} when the dead-letter store or the idempotency store is down
   * @example
   * await hooks.deadLetters.discard(letter.id, { by: 'ada', because: 'test data' });
   */
  discard(id: string, why: Pick<Discarded, 'by' | 'because'>): Promise<boolean>;
}

/** Retries dead letters from `start()` to `stop()`. */
export interface RedriveTimer {
  /** A second call changes nothing. */
  start(): void;
  /** Resolves when no retry is running. */
  stop(): Promise<void>;
}

/** Undefined without the option. @param limiter that of the deliveries */
export function openRedrive(config: Configuration, limiter: InFlightLimiter): RedriveTimer | undefined {
  const { deadLetters: store, redrive: rules } = config;
  if (!store || !rules) return undefined;
  let begin = () => {};
  let timer: NodeJS.Timeout | undefined;
  let run: Promise<number> | undefined;
  let stopped = false;
  const began = new Promise<void>((resolve) => {
    begin = resolve;
  });
  // Awaited here, so that retries do not run in the async context of the delivery that starts them.
  began
    .then(async () => {
      const { Redrive } = await import('./redrive.js');
      const redrive = new Redrive(config, rules, callsOf(config, store), limiter);
      const look = async () => {
        run = redrive.run();
        const ms = await run;
        if (stopped) return;
        timer = setTimeout(look, ms);
        // It never keeps a process alive. In jsdom it is a number.
        timer.unref?.();
      };
      if (!stopped) await look();
    })
    .catch((error) => {
      const message = 'redrive failed, so dead letters are not retried automatically';
      writeLog(config.logger ?? defaultLogger(), 'error', { error: describeError(error) }, message);
    });
  return {
    start: begin,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await run;
    },
  };
}

/**
 * Undefined without the option. Loads the manager on first use: most processes only keep letters.
 *
 * @param limiter that of the deliveries
 */
export function openDeadLetters(config: Configuration, limiter: InFlightLimiter): DeadLetters | undefined {
  const { deadLetters: store, logger, namespace } = config;
  if (!store) return undefined;
  const calls = () => callsOf(config, store);
  const manager = async () => {
    const { LetterManager } = await import('./letter-manager.js');
    return new LetterManager(config, calls(), limiter);
  };
  const letters: DeadLetters & { readonly [LETTERS_LOGGER]: typeof logger } = {
    list(filter) {
      const query = queryOf(namespace, filter);
      return { [Symbol.asyncIterator]: () => listLetters(calls(), query) };
    },
    count: async (...given) => (await manager()).count(...given),
    page: async (...given) => (await manager()).page(...given),
    read: async (id) => (await manager()).read(id),
    nextTry: (letter) => config.redrive && nextTry(letter, config.redrive),
    replay: async (options) => (await manager()).replay(options),
    discard: async (id, why) => (await manager()).discard(id, why),
    [LETTERS_LOGGER]: logger,
  };
  return letters;
}

function callsOf({ logger, storeTimeout }: Configuration, store: DeadLetterStore): DeadLetterCalls {
  return new DeadLetterCalls(store, { log: logger ?? defaultLogger() }, storeTimeout);
}
