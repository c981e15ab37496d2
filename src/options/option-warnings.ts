// Warns, when a receiver is made, of options that are allowed and rarely meant.
import type { DeadLetterStore } from '../claims/dead-letter-store.js';
import type { IdempotencyStore } from '../claims/idempotency-store.js';
import { type Logger, writeLog } from '../logger.js';
import { defaultLogger } from './default-logger.js';
import { KEY_VARIABLE } from './keys.js';

interface Resolved {
  readonly logger: Logger | undefined;
  readonly store: IdempotencyStore<object> | undefined;
  readonly deadLetters?: DeadLetterStore | undefined;
  readonly lease: number;
  readonly maxHandlerTime: number;
  readonly storeTimeout: number;
  readonly timeout: number;
}

/** As they were given. */
interface Given {
  readonly privateKey?: unknown;
  readonly sandbox?: unknown;
  readonly timeout?: unknown;
  readonly bodyTimeout?: unknown;
}

/** Keys of the documentation and of the simulator: everybody knows them. */
const PUBLISHED_KEY = /^pri_(?:example$|sim_)/;

/** Less is hardly ever meant: a number of seconds, most likely. */
const SHORT_MS = 100;

type Warn = (option: string, message: string) => void;

export function warnOfOptions(resolved: Resolved, given: Given): void {
  const warn: Warn = (option, message) =>
    writeLog(resolved.logger ?? defaultLogger(), 'warn', { option }, message);
  warnOfGiven(given, warn);
  warnOfTimes(resolved, warn);
  if (process.env.NODE_ENV === 'production' && given.sandbox === undefined) {
    const advice = 'set the option sandbox to "ignore", or to "accept" if that is meant';
    warn('sandbox', `sandbox events are accepted in production: ${advice}`);
  }
  warnOfPublishedKey(given, warn);
  warnOfScope(resolved, warn);
}

function warnOfGiven(given: Given, warn: Warn): void {
  if ('privateKey' in given && given.privateKey === undefined) {
    const outcome = `so ${KEY_VARIABLE} is used. Leave the option out if that is meant`;
    warn('privateKey', `privateKey was given as undefined, ${outcome}`);
  }
  for (const option of ['timeout', 'bodyTimeout'] as const) {
    // A number, or text without a unit. With 0 there is no timeout.
    const ms = Number(given[option]);
    if (!(ms > 0 && ms < SHORT_MS)) continue;
    const advice = `Write '${ms}s' for seconds, or '${ms}ms' if it is meant`;
    warn(option, `${option} is ${ms} milliseconds. ${advice}`);
  }
}

function warnOfPublishedKey({ privateKey = process.env[KEY_VARIABLE] }: Given, warn: Warn): void {
  const isPublished = [privateKey].flat().some((key) => typeof key === 'string' && PUBLISHED_KEY.test(key));
  if (!isPublished || process.env.NODE_ENV !== 'production') return;
  const advice = `Set ${KEY_VARIABLE} to the key of your account`;
  warn('privateKey', `privateKey is a key that is published, so anyone could forge a payment. ${advice}`);
}

function warnOfTimes(
  { store, deadLetters, lease, maxHandlerTime, storeTimeout, timeout }: Resolved,
  warn: Warn,
): void {
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
}

/** What only one process sees, where there are several or where it is deployed. */
function warnOfScope({ store, deadLetters }: Resolved, warn: Warn): void {
  const isDeployed = process.env.NODE_ENV === 'production';
  if (store?.scope === 'process' && isClusterWorker()) {
    const outcome = 'so a retry that another worker gets runs the event again';
    const advice = 'use redisStore(), postgresStore() or sqlStore()';
    warn('store', `each worker of node:cluster has its own memory store, ${outcome}: ${advice}`);
  } else if (store?.scope === 'process' && isDeployed) {
    const reach = 'another process, or this one restarted, would run an event again';
    warn('store', `the memory store is seen by this process only: ${reach}`);
  }
  if (deadLetters?.scope === 'process' && isDeployed) {
    const loss = 'they are lost when it ends';
    warn('deadLetters', `dead letters are kept in the memory of this process: ${loss}`);
  }
}

/** Not imported: Workers and bundles for other platforms have no `node:cluster`. */
function isClusterWorker(): boolean {
  const cluster = process.getBuiltinModule?.('node:cluster') as { isWorker?: boolean } | undefined;
  return cluster?.isWorker === true;
}
