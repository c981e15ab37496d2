// An inbox in the memory of this process, for tests and first steps.
import type { Inbox } from '../../contracts/inbox.js';
import { refuseUnknownOptions } from '../../misuse.js';
import { memoryDeadLetters } from '../letters/memory.js';
import { memoryStore } from '../memory.js';

export interface MemoryInboxOptions {
  /** How long ids and letters are kept: `ms`-style string or milliseconds. @default '30d' */
  readonly retention?: number | string | undefined;
}

/**
 * An inbox whose ids and letters are lost when the process ends, and seen by no other.
 *
 * @throws {ConfigurationError} if retention is not a duration
 * @example
 * const hooks = receiver({ inbox: memoryInbox() });
 */
export function memoryInbox(options: MemoryInboxOptions = {}): Inbox {
  refuseUnknownOptions(options, ['retention']);
  const { retention } = options;
  return {
    store: memoryStore({ retention }),
    deadLetters: memoryDeadLetters({ retention }),
    ping: async () => {},
  };
}
