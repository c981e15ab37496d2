// An inbox in the memory of this process, for tests and first steps.
import type { Inbox } from '../../contracts/inbox.js';
import { defineOptions, type OptionRule, RETENTION } from '../../options/define-options.js';
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
  const { retention } = MEMORY_INBOX_OPTIONS.read(options);
  return {
    store: memoryStore({ retention }),
    deadLetters: memoryDeadLetters({ retention }),
    ping: async () => {},
  };
}

const MEMORY_INBOX_OPTIONS = defineOptions({ retention: RETENTION } satisfies Record<
  keyof MemoryInboxOptions,
  OptionRule<unknown>
>);
