// Warns, when a receiver is created, about options that are valid but probably a mistake.
import type { DeadLetterStore } from '../contracts/dead-letter-store.js';
import type { IdempotencyStore } from '../contracts/idempotency-store.js';
import { defaultLogger } from '../default-logger.js';
import { type Logger, writeLog } from '../logger.js';
import { hasKeyPrefix, isSandboxKey, isSimulatorKey, keysIn } from '../signature.js';
import { KEY_VARIABLE } from './keys.js';
import type { RedriveRules } from './option-checks.js';

interface Resolved {
  readonly logger: Logger | undefined;
  readonly store: IdempotencyStore<object> | undefined;
  readonly deadLetters?: DeadLetterStore | undefined;
  readonly redrive?: RedriveRules | undefined;
  readonly lease: number;
  readonly maxHandlerTime: number;
  readonly storeTimeout: number;
  readonly timeout: number;
  /** In lower case; undefined for a worker, which checks no signature and whose queue keeps what fails. */
  readonly signatureHeader?: string;
}

/** The options as they were given. */
interface Given {
  readonly privateKey?: unknown;
  readonly sandbox?: unknown;
  readonly timeout?: unknown;
  readonly bodyTimeout?: unknown;
}

/** The documentation of the service writes a neutral word in place of its name. */
const PLACEHOLDER_HEADER = 'X-SERVICE-SIGNATURE';

/** Milliseconds. A shorter timeout was probably meant in seconds. */
const SHORT_MS = 100;

type Warn = (option: string, message: string) => void;

export function warnOfOptions(resolved: Resolved, given: Given): void {
  const warn: Warn = (option, message) =>
    writeLog(resolved.logger ?? defaultLogger(), 'warn', { option }, message);
  warnOfGiven(given, warn);
  warnOfTimes(resolved, warn);
  if (process.env.NODE_ENV === 'production') warnInProduction(resolved, given, warn);
  if (resolved.store?.scope === 'process' && isClusterWorker())
    warn(
      'store',
      'each worker of node:cluster has its own memory store, so a retry that reaches another worker runs the event again: ' +
        'use redisStore(), postgresStore() or sqlStore()',
    );
}

function warnOfGiven(given: Given, warn: Warn): void {
  if ('privateKey' in given && given.privateKey === undefined)
    warn(
      'privateKey',
      `privateKey was given as undefined, so ${KEY_VARIABLE} is used. Leave the option out if that is intended`,
    );
  for (const option of ['timeout', 'bodyTimeout'] as const) {
    // A number, or text without a unit. With 0 there is no timeout.
    const ms = Number(given[option]);
    if (ms > 0 && ms < SHORT_MS)
      warn(
        option,
        `${option} is ${ms} milliseconds. Write '${ms}s' for seconds, or '${ms}ms' if you mean milliseconds`,
      );
  }
}

function warnOfTimes(
  { store, deadLetters, redrive, lease, maxHandlerTime, storeTimeout, timeout }: Resolved,
  warn: Warn,
): void {
  if (store && lease < storeTimeout)
    warn(
      'lease',
      `lease (${lease} ms) is shorter than storeTimeout (${storeTimeout} ms): a claim that is granted after its lease has ended ` +
        'is released and answered 503',
    );
  if (store && maxHandlerTime < timeout)
    warn(
      'timeout',
      `timeout (${timeout} ms) is longer than maxHandlerTime (${maxHandlerTime} ms): a retry can run next to a handler whose ` +
        'delivery is not answered yet',
    );
  const [kept, remembered] = [deadLetters?.retentionMs, store?.retentionMs];
  if (kept !== undefined && remembered !== undefined && kept > remembered)
    warn(
      'deadLetters',
      `dead letters are kept for longer (${kept} ms) than the store remembers ids (${remembered} ms): a letter left behind ` +
        'by an event that was processed could be replayed when its id is forgotten. Use the same retention for both',
    );
  const lastTry = redrive?.dueAfterMs.at(-1);
  if (kept !== undefined && lastTry !== undefined && kept <= lastTry)
    warn(
      'redrive',
      `redrive retries for ${lastTry} ms, but dead letters expire after ${kept} ms. Raise their retention, or shorten redrive.delays`,
    );
}

function warnInProduction(resolved: Resolved, given: Given, warn: Warn): void {
  const { store, deadLetters, signatureHeader } = resolved;
  if (given.sandbox === undefined)
    warn(
      'sandbox',
      'sandbox events are accepted in production: set the option sandbox to "ignore", or to "accept" if that is intended',
    );
  if (signatureHeader !== undefined) warnOfKeys(given, warn);
  if (signatureHeader === PLACEHOLDER_HEADER.toLowerCase())
    warn(
      'signatureHeader',
      `signatureHeader is ${PLACEHOLDER_HEADER}, a placeholder of the documentation. Set it to the name of the header that the service sends`,
    );
  if (signatureHeader !== undefined && !deadLetters)
    warn(
      'deadLetters',
      'deadLetters is not set: an event that is not processed is lost if the service does not deliver it again. Set it to a ' +
        'store such as postgresDeadLetters()',
    );
  if (store?.scope === 'process' && !isClusterWorker())
    warn(
      'store',
      'the memory store is not shared: another process, or this one after a restart, would run an event again',
    );
  if (deadLetters?.scope === 'process')
    warn('deadLetters', 'dead letters are kept in the memory of this process: they are lost when it ends');
}

/** The keys of a function are not known yet. */
function warnOfKeys({ privateKey, sandbox }: Given, warn: Warn): void {
  const fromEnvironment = privateKey === undefined;
  const keys = fromEnvironment ? keysIn(process.env[KEY_VARIABLE] ?? '') : [privateKey].flat();
  const texts = keys.filter((key) => typeof key === 'string');
  const warnOnce = (isWrong: (key: string) => boolean, message: string) => {
    const index = texts.findIndex(isWrong);
    const place = texts.length > 1 ? `[${index}]` : '';
    const name = fromEnvironment ? KEY_VARIABLE : `privateKey${place}`;
    if (index !== -1) warn('privateKey', `${name} ${message}`);
  };
  const isPublished = (key: string) => key === 'pri_example' || isSimulatorKey(key);
  warnOnce(
    isPublished,
    `is a published example key, so anyone could forge a payment. Set ${KEY_VARIABLE} to the key of your account`,
  );
  warnOnce(
    (key) => !hasKeyPrefix(key),
    'does not begin with "pri_", as private keys do. Check that it is the private key from the dashboard',
  );
  warnOnce(
    (key) => key.includes(','),
    "has a comma in it. If it is two keys, pass an array: ['pri_new', 'pri_old']",
  );
  // Live and sandbox events at one URL need both keys, and a staging server only has that of the sandbox.
  const hasLive = texts.some((key) => !isSandboxKey(key));
  if (sandbox === 'only' || (sandbox === 'accept' && hasLive)) return;
  warnOnce(
    (key) => isSandboxKey(key) && !isPublished(key),
    `is a sandbox key, which verifies no live event. Use the live key, or set the option sandbox to "only"`,
  );
}

/** Not imported: Workers and bundles for other platforms have no `node:cluster`. */
function isClusterWorker(): boolean {
  const cluster = process.getBuiltinModule?.('node:cluster') as { isWorker?: boolean } | undefined;
  return cluster?.isWorker === true;
}
