// Deliberate bugs, made in the code as it is loaded. Each has to be found.

import type { BackendName } from './backends.js';

export interface Bug {
  readonly name: string;
  readonly what: string;
  readonly file: string;
  /** Where it is. @default 'memory' */
  readonly backend?: BackendName;
  /** Must be in the file once. */
  readonly find: string;
  readonly replace: string;
  /** How what is found begins. */
  readonly breaks: RegExp;
  /** With this seed it is found within some hundred runs. */
  readonly seed: number;
}

export const BUGS: readonly Bug[] = [
  {
    name: 'release-early',
    what: 'the claim is released at the timeout, before the work fails',
    file: 'src/receiver/process-event.ts',
    find: 'return underClaim(delivery, config, (held) => runHandlers(held, matched, config, answerEarly));',
    replace: `return underClaim(delivery, config, (held) => runHandlers(held, matched, config, (result) => {
      answerEarly(result);
      void held.store.release(held.claim, held.claim.finished);
    }));`,
    breaks: /^P4/,
    seed: 2,
  },
  {
    name: 'complete-without-token',
    what: 'a claim that was taken over can still complete',
    file: 'src/stores/memory.ts',
    find: "return this.#end(claim, 'completed');",
    replace: "return this.#end(this.#claims.get(claim.key) ?? claim, 'completed');",
    breaks: /^P4/,
    seed: 2,
  },
  {
    name: 'late-success',
    what: 'a handler that gave up after its signal aborted counts as a success',
    file: 'src/handlers/handler-run.ts',
    find: 'if (this.#mayHaveGivenUp) {',
    replace: 'if (this.#mayHaveGivenUp && !delivery) {',
    breaks: /^(?:P1|END)/,
    seed: 1,
  },
  {
    name: 'commit-after-giving-up',
    what: 'once commits although its handler gave up after its signal aborted',
    file: 'src/handlers/handler-run.ts',
    find: "if (this.#mayHaveGivenUp) throw new WebhookError('HANDLER_TIMEOUT');",
    replace: '',
    breaks: /^(?:P1|KEPT|END)/,
    seed: 1,
  },
  {
    name: 'duplicate-200',
    what: 'the duplicate of an event in progress is answered 200',
    file: 'src/receiver/process-event.ts',
    find: "return new Rejection('IN_PROGRESS', { retryAfterMs: claim.retryAfterMs });",
    replace: "return 'duplicate';",
    breaks: /^P1/,
    seed: 1,
  },
  {
    name: 'redrive-unclaimed',
    what: 'letters are replayed without a claim',
    file: 'src/dead-letters/letter-replayer.ts',
    find: 'processEvent(delivery, this.#config, waitFor)',
    replace: `processEvent(delivery, { ...this.#config, store: undefined }, waitFor).then(async (result) => {
          if (result === 'processed') await delivery.letter?.removeCompleted('');
          return result;
        })`,
    breaks: /^P4/,
    seed: 2,
  },
  {
    name: 'sql-complete-without-token',
    what: 'the SQL completes a claim that was taken over',
    file: 'src/stores/sql/sqlite.ts',
    backend: 'sqlite',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as in the source
    find: "finished = '[]', forget_at = ${fromNow('$3')}\n${owned}`",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as in the source
    replace: "finished = '[]', forget_at = ${fromNow('$3')}\nWHERE key = $1 AND $2 IS NOT NULL`",
    breaks: /^P4/,
    seed: 1,
  },
  {
    name: 'sql-claim-within-lease',
    what: 'the SQL grants a claim whose lease has not ended',
    file: 'src/stores/sql/sqlite.ts',
    backend: 'sqlite',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as in the source
    find: 'WHERE ${isFree} AND e.key',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as in the source
    replace: 'WHERE e.lease_ends < ${NEVER_MS} AND e.key',
    breaks: /^P4/,
    seed: 1,
  },
  {
    name: 'sql-once-takes-the-row',
    what: 'the SQL of once takes the row of an earlier attempt for its own',
    file: 'src/stores/sql/sqlite.ts',
    backend: 'sqlite',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as in the source
    find: 'token = CASE WHEN ${forgotten} THEN excluded.token ELSE e.token END',
    replace: 'token = excluded.token',
    breaks: /^ONCE/,
    seed: 1,
  },
  {
    name: 'batch-answers-by-key',
    what: 'a statement of several calls answers each by its key',
    file: 'src/stores/sql/batches.ts',
    backend: 'sqlite',
    find: 'if (written.has(waiting.call.token)) waiting.settle(confirmed);',
    replace:
      'if (calls.some(({ key, token }) => key === waiting.call.key && written.has(token))) waiting.settle(confirmed);',
    breaks: /^P4/,
    seed: 1,
  },
  {
    name: 'batch-grants-unconfirmed',
    what: 'a statement of several calls grants what it has not confirmed',
    file: 'src/stores/sql/batches.ts',
    backend: 'sqlite',
    find: 'if (written.has(waiting.call.token)) waiting.settle(confirmed);',
    replace: 'if (written) waiting.settle(confirmed);',
    breaks: /^P4/,
    seed: 1,
  },
];
