// What Cloudflare Workers need: work that goes on after its answer, or after its sender has left, ends unless they are told of it.
import { type Logger, writeLog } from '../logger.js';
import { describeError } from './describe-error.js';

/** What Workers hand over as the third argument of `fetch`. */
export interface FetchContext {
  waitUntil?(promise: Promise<unknown>): void;
}

const NO_CONTEXT =
  'hooks.fetch() has no context of a Worker that works, so a handler ends when its sender leaves or its delivery is ' +
  'answered. Pass it on: hooks.fetch(request, env, ctx)';

// Once each, because strangers cause calls of fetch() too.
let warned = false;
let failed = false;

/** Whether this is Cloudflare Workers, or workerd. */
export function runsInWorker(): boolean {
  const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: string } };
  return navigator?.userAgent === 'Cloudflare-Workers';
}

/** Lets the work go on to its end. Elsewhere than in a Worker it does so by itself. Never throws: the handlers run. */
export function keepRunning(
  work: () => Promise<unknown>,
  context: FetchContext | undefined,
  logger: Logger,
): void {
  try {
    if (typeof context?.waitUntil === 'function') {
      context.waitUntil(work());
    } else if (!warned && runsInWorker()) {
      warned = true;
      writeLog(logger, 'error', {}, NO_CONTEXT);
    }
  } catch (error) {
    if (!failed) writeLog(logger, 'error', { error: describeError(error) }, NO_CONTEXT);
    failed = true;
  }
}
