// Six deliberate bugs, made in the code as it is loaded. Each has to be found.

export interface Bug {
  readonly name: string;
  readonly what: string;
  readonly file: string;
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
];
