// An inbox prunes itself while a receiver or worker uses it.
import type { Inbox } from '../contracts/inbox.js';
import { defaultLogger } from '../default-logger.js';
import { describeError, type Logger, writeLog } from '../logger.js';
import { describeThrown } from './describe-thrown.js';

/** The key of the pruner in an inbox, which may come from another copy of this package. */
export const PRUNER = Symbol.for('payment-webhooks.pruner');

/** One receiver or worker that uses an inbox. */
export interface InboxUser {
  /** Called for each delivery: the first call starts to prune. */
  start(): void;
  /** Pruning ends when all users have stopped. */
  stop(): void;
}

/** @param failed called with what a store threw while it was pruned */
export type Pruner = (failed: (error: unknown) => void) => InboxUser;

/** Undefined without an inbox, and if the inbox does not prune itself. */
export function userOfInbox({
  inbox,
  logger,
}: {
  readonly inbox: Inbox<object> | undefined;
  readonly logger: Logger | undefined;
}): InboxUser | undefined {
  const pruner = (inbox as { readonly [PRUNER]?: Pruner } | undefined)?.[PRUNER];
  return pruner?.((error) => {
    const message = `expired rows were not deleted, which is tried again later: ${describeThrown(error, 'store').message}`;
    writeLog(logger ?? defaultLogger(), 'error', { error: describeError(error) }, message);
  });
}
