// `hooks.forget()`: forgets an event, so that its next delivery is processed like a new one.

import { type ForgetResult, type IdempotencyStore, keyOf } from '../contracts/idempotency-store.js';
import { ConfigurationError, StoreError } from '../errors.js';
import { type Logger, shorten, writeLog } from '../logger.js';
import { show } from '../misuse.js';
import { StoreCalls, type StoreRules } from './store-calls.js';
import { StoreFailure } from './timed-calls.js';

/** The event to forget. */
export interface ForgottenEvent {
  /** The id of the event, as in logs and dead letters. */
  readonly id: string;
  /** Whether it is an event of the sandbox. @default false */
  readonly sandbox?: boolean | undefined;
}

interface ForgetRules extends StoreRules {
  readonly namespace: string;
  readonly store: IdempotencyStore<object> | undefined;
}

/** @throws {ConfigurationError} for an invalid event, or a store that cannot forget @throws {StoreError} when the store is down */
export async function forgetEvent(
  rules: ForgetRules,
  logger: Logger,
  event: ForgottenEvent,
): Promise<ForgetResult> {
  const { id, sandbox = false } = event ?? {};
  if (typeof id !== 'string' || id === '')
    throw new ConfigurationError(`id is ${show(id)}. Pass the id of an event: forget({ id: '…' }).`);
  if (typeof sandbox !== 'boolean')
    throw new ConfigurationError(`sandbox is ${show(sandbox)}. Pass true or false.`);
  const { namespace, store } = rules;
  if (typeof store?.forget !== 'function')
    throw new ConfigurationError(
      'forget() needs a store that has forget(), and this receiver has none. All stores of this package have it.',
    );
  const calls = new StoreCalls(store, { log: logger }, rules);
  const result = await calls.forget(keyOf(namespace, { id, sandbox, event_name: '' }));
  if (result instanceof StoreFailure)
    throw new StoreError(`The event was not forgotten. ${result.message}`, { cause: result.cause });
  if (result.status === 'forgotten') {
    const fields = { eventId: shorten(id), sandbox, handlers: result.handlers };
    writeLog(logger, 'warn', fields, 'an event was forgotten: its next delivery is processed like a new one');
  }
  return result;
}
