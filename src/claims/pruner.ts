// What a receiver or worker does with its inbox, besides using its stores: it has them pruned.
import { type Inbox, type InboxUser, PRUNER, type Pruner } from '../contracts/inbox.js';
import { defaultLogger } from '../default-logger.js';
import { describeError, type Logger, writeLog } from '../logger.js';
import { describeThrown } from './describe-thrown.js';

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
