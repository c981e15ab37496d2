// One call of the service: its credential, timeout and retries.
import { ConfigurationError } from '../errors.js';
import { refuseUnknownOptions, show } from '../misuse.js';
import type { Codec, Reader } from './codec.js';
import { type Authorization, redactor } from './credential.js';
import { AuthenticationError, ConnectionError, NotFoundError, ServiceError } from './errors.js';
import { checkTimeout, type RequestOptions, type ResolvedOptions } from './options.js';
import { readAnswer } from './read-answer.js';
import { pause, reasonOf, retryDelay, throwIfAborted } from './retry.js';
import { sendRequest } from './send-request.js';

interface Call<Read extends Reader> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `apiPath`. */
  readonly path: string;
  /** Makes the body. Without it the request has no body. */
  readonly write?: (codec: Codec) => unknown;
  /** Without it any 2xx is a success, and its body is not read. */
  readonly read?: Read;
}

/** What the attempts of one call share, so that a token function is called once for all of them. */
interface CallState {
  readonly timeout: number;
  readonly signal: AbortSignal | undefined;
  authorization?: Authorization | undefined;
  refreshed: boolean;
  /** An earlier attempt may have reached the service although no answer arrived. */
  doubtful: boolean;
}

export class Requester {
  readonly #options: ResolvedOptions;

  constructor(options: ResolvedOptions) {
    this.#options = options;
  }

  /**
   * @throws {ServiceError} for an error of the service, or if no usable answer came
   * @throws the reason of the caller's signal if it ended the call
   */
  async send<Read extends Reader>(
    call: Call<Read>,
    options: RequestOptions = {},
  ): Promise<ReturnType<Codec[Read]>> {
    refuseUnknownOptions(options, ['signal', 'timeout']);
    const timeout = checkTimeout(options.timeout ?? this.#options.timeout, 'timeout');
    const signal = signalOf(options.signal);
    const state: CallState = { timeout, signal, refreshed: false, doubtful: false };
    for (let retries = 0; ; ) {
      try {
        return await this.#attempt(call, state);
      } catch (error) {
        if (!(error instanceof ServiceError) || state.signal?.aborted) throw error;
        if (this.#mayRefresh(error, state)) continue;
        // A 404 for a retried DELETE means that an earlier attempt worked.
        if (call.method === 'DELETE' && state.doubtful && error instanceof NotFoundError) {
          return undefined as never;
        }
        const more = retries < this.#options.retries;
        const delay = more ? retryDelay(error, { method: call.method, retries }) : undefined;
        if (delay === undefined) throw error;
        state.doubtful ||= error.status !== 429;
        retries += 1;
        await pause(delay, state.signal);
      }
    }
  }

  /** After a 401 a token function is called once more. This is safe for POST too: a 401 has no effect. */
  #mayRefresh(error: ServiceError, state: CallState): boolean {
    const { refreshable } = this.#options.credential;
    if (!(error instanceof AuthenticationError) || state.refreshed || !refreshable) return false;
    state.refreshed = true;
    state.authorization = undefined;
    return true;
  }

  async #attempt<Read extends Reader>(call: Call<Read>, state: CallState): Promise<ReturnType<Codec[Read]>> {
    const { root, credential, codec } = this.#options;
    const { method } = call;
    const url = root + call.path;
    const subject = () => {
      const redact = state.authorization ? redactor(state.authorization) : (text: string) => text;
      return { endpoint: redact(`${method} ${new URL(url).pathname}`), redact };
    };
    const timedOut = () => {
      const message = `${subject().endpoint} got no complete answer within ${state.timeout} ms (timeout).`;
      return new ConnectionError('TIMED_OUT', message);
    };
    return withTimeout(state, timedOut, async (signal) => {
      state.authorization ??= await credential.authorize({ refresh: state.refreshed, signal });
      const headers = { accept: 'application/json', authorization: state.authorization.header };
      const content = call.write && {
        body: JSON.stringify(call.write(codec)),
        headers: { ...headers, 'content-type': 'application/json' },
      };
      const known = subject();
      const answer = await sendRequest(url, { method, headers, signal, ...content }, this.#options, known);
      return readAnswer(answer, known, codec, call.read);
    });
  }
}

/** @throws {ConfigurationError} unless it is a signal, of whichever realm or polyfill */
function signalOf(given: AbortSignal | undefined): AbortSignal | undefined {
  if (given === undefined || given === null) return undefined;
  if (typeof given.aborted === 'boolean' && typeof given.addEventListener === 'function') return given;
  throw new ConfigurationError(`signal is ${show(given)}. Pass the signal of an AbortController.`);
}

/**
 * Settles like the work, or rejects with `timedOut()` after the timeout (0: never) or with the reason of the caller's
 * signal. The work gets a signal that it may ignore.
 */
async function withTimeout<Value>(
  { timeout, signal }: Pick<CallState, 'timeout' | 'signal'>,
  timedOut: () => Error,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  throwIfAborted(signal);
  const controller = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason));
  });
  const abort = () => controller.abort(signal && reasonOf(signal));
  const timer = timeout > 0 ? setTimeout(() => controller.abort(timedOut()), timeout) : undefined;
  signal?.addEventListener('abort', abort);
  try {
    return await Promise.race([work(controller.signal), aborted]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    // An answer that was not read to its end must not keep its socket.
    controller.abort();
  }
}
