// The dead letters of one receiver. What manages them is loaded when it is first asked for: most processes only keep them.

import { defaultLogger } from '../options/default-logger.js';
import type { Configuration } from '../options/options.js';
import type { InFlightLimiter } from '../telemetry/in-flight-limiter.js';
import { DeadLetterCalls, listLetters } from './dead-letter-calls.js';
import { queryOf } from './dead-letter-filter.js';
import { type DeadLetters, LETTERS_LOGGER } from './dead-letters.js';

export type { DeadLetters } from './dead-letters.js';

/**
 * Undefined without the option.
 *
 * @param limiter that of the deliveries
 */
export function openDeadLetters(c: Configuration, limiter: InFlightLimiter): DeadLetters | undefined {
  const { deadLetters: store, logger, namespace, storeTimeout } = c;
  if (!store) return undefined;
  const calls = () => new DeadLetterCalls(store, { log: logger ?? defaultLogger() }, storeTimeout);
  const manager = async () => {
    const { LetterManager } = await import('./letter-manager.js');
    return new LetterManager(c, calls(), limiter);
  };
  const letters: DeadLetters & { readonly [LETTERS_LOGGER]: typeof logger } = {
    list(filter) {
      const query = queryOf(namespace, filter);
      return { [Symbol.asyncIterator]: () => listLetters(calls(), query) };
    },
    count: async (...given) => (await manager()).count(...given),
    page: async (...given) => (await manager()).page(...given),
    read: async (id) => (await manager()).read(id),
    replay: async (options) => (await manager()).replay(options),
    discard: async (id, why) => (await manager()).discard(id, why),
    [LETTERS_LOGGER]: logger,
  };
  return letters;
}
