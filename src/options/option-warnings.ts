// Warns, when a receiver is made, of options that are allowed and rarely meant.
import type { DeadLetterStore } from '../dead-letters/dead-letter-store.js';
import { type Logger, writeLog } from '../logger.js';
import type { IdempotencyStore } from '../stores/store.js';
import { defaultLogger } from './default-logger.js';

interface Resolved {
  readonly logger: Logger | undefined;
  readonly store: IdempotencyStore<object> | undefined;
  readonly deadLetters?: DeadLetterStore | undefined;
  readonly lease: number;
  readonly maxHandlerTime: number;
  readonly storeTimeout: number;
  readonly timeout: number;
}

export function warnOfOptions(
  { logger, store, deadLetters, lease, maxHandlerTime, storeTimeout, timeout }: Resolved,
  sandboxUnset: boolean,
): void {
  const warn = (option: string, message: string) =>
    writeLog(logger ?? defaultLogger(), 'warn', { option }, message);
  if (store && lease < storeTimeout) {
    const outcome = 'a claim that comes after its lease has ended is given back and answered 503';
    warn('lease', `lease (${lease} ms) is shorter than storeTimeout (${storeTimeout} ms): ${outcome}`);
  }
  if (store && maxHandlerTime < timeout) {
    const outcome = 'a retry can run beside a handler whose delivery is not answered yet';
    warn(
      'timeout',
      `timeout (${timeout} ms) is longer than maxHandlerTime (${maxHandlerTime} ms): ${outcome}`,
    );
  }
  const [kept, remembered] = [deadLetters?.retentionMs, store?.retentionMs];
  if (kept !== undefined && remembered !== undefined && kept > remembered) {
    const outcome =
      'a letter left behind by an event that was processed could be replayed when its id is forgotten';
    warn(
      'deadLetters',
      `dead letters are kept for longer (${kept} ms) than the store remembers ids (${remembered} ms): ${outcome}. Give both the same retention`,
    );
  }
  if (process.env.NODE_ENV !== 'production') return;
  if (sandboxUnset) {
    const advice = 'set the option sandbox to "ignore", or to "accept" if that is meant';
    warn('sandbox', `sandbox events are accepted in production: ${advice}`);
  }
  if (store?.scope === 'process') {
    const reach = 'another process, or this one restarted, would run an event again';
    warn('store', `the memory store is seen by this process only: ${reach}`);
  }
  if (deadLetters?.scope === 'process') {
    const loss = 'they are lost when it ends';
    warn('deadLetters', `dead letters are kept in the memory of this process: ${loss}`);
  }
}
