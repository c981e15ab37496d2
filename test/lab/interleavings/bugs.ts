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
  /** With this seed it is found within some hundred runs. Undefined: only by the trail, whose faults no run draws. */
  readonly seed?: number;
  /** The bug of the model whose counterexample finds it too. @default the one with its name, if there is one */
  readonly trail?: string;
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
    trail: 'complete-without-token',
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
    trail: 'token-per-run',
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
  {
    name: 'row-outside',
    what: 'the row of once is committed by itself, before the writes',
    file: 'src/stores/sql/sqlite.ts',
    backend: 'sqlite',
    find: 'const { rows } = yield [this.#sql.writeRow, [key, token, fingerprint, ms(keepMs)]];',
    replace: `const { rows } = yield [this.#sql.writeRow, [key, token, fingerprint, ms(keepMs)]];
    yield [new Statement('COMMIT', { prepared: false }), []];
    yield [BEGIN, []];`,
    breaks: /^P1/,
  },
  {
    name: 'token-per-run',
    what: 'the second call of a run, after a commit without an answer, takes the row of the first for a new one',
    file: 'src/stores/sql/engine.ts',
    backend: 'sqlite',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as in the source
    find: '({ key, fingerprint, keepMs }: ClaimParameters, name: string): OnceRow {\n  return { key: `${key} ${name}`, token: newToken(),',
    replace:
      // biome-ignore lint/suspicious/noTemplateCurlyInString: as in the source
      '({ key, token, fingerprint, keepMs }: ClaimParameters, name: string): OnceRow {\n  return { key: `${key} ${name}`, token,',
    breaks: /^ONCE/,
  },
  {
    name: 'no-read-back',
    what: 'the event is completed although the row of once is missing',
    file: 'src/stores/sql/engine.ts',
    backend: 'sqlite',
    find: 'const rows = handlers.flatMap(({ row }) => row ?? []);',
    replace: 'const rows = [];',
    breaks: /^P1/,
  },
  {
    name: 'unanswered-completion',
    what: 'a completion without an answer, so that nobody has read the row of once, is answered 200',
    file: 'src/receiver/process-event.ts',
    backend: 'sqlite',
    find: 'if (completed instanceof StoreFailure && run.wrote)',
    replace: 'if (false)',
    breaks: /^P1/,
  },
  {
    name: 'unread-finished',
    what: 'a handler is remembered as finished although its row is missing, and is skipped from then on',
    file: 'src/handlers/handler-run.ts',
    backend: 'sqlite',
    find: 'this.#isUnproven = conflicts || (wrote && skipped === undefined);',
    replace: 'this.#isUnproven = conflicts;',
    breaks: /^P1/,
  },
  {
    name: 'swallowed-rejection',
    what: 'a handler that swallowed the rejection of once counts as a success',
    file: 'src/handlers/handler-run.ts',
    backend: 'sqlite',
    find: 'if (failure !== undefined) throw failure;',
    replace: '',
    breaks: /^P1/,
  },
  {
    name: 'remove-before-completion',
    what: 'the letter is removed before the event is completed',
    file: 'src/receiver/process-event.ts',
    backend: 'sqlite',
    find: 'const completed = await store.complete(',
    replace: `if (letter) await letter.removeProcessed();
  const completed = await store.complete(`,
    breaks: /^END/,
  },
];
