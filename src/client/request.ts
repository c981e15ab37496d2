// One call of the service: credentials, timeout, retries, and errors that say what to do.
import { refuseUnknownOptions } from '../errors.js';
import type { Codec } from './codec.js';
import { type Authorization, redactor } from './credential.js';
import { AuthenticationError, ConnectionError, NotFoundError, ServiceError } from './errors.js';
import { type RequestOptions, type ResolvedOptions, timeoutOf } from './options.js';
import { readAnswer } from './read-answer.js';
import { pause, retryDelay } from './retry.js';
import { sendRequest } from './send-request.js';

/** A call, as the methods of the client describe it. */
export interface Call<Result> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `apiPath`. */
  readonly path: string;
  /** Makes the body. Without it the request has none. */
  readonly write?: (codec: Codec) => unknown;
  /** Reads the answer. Without it a 2xx is enough. */
  readonly read?: (codec: Codec, body: unknown) => Result;
}

/** What the attempts of one call share. A token function is called once for all of them. */
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
   * @throws {ServiceError} when the service refused, or no usable answer came
   * @throws the reason of the caller's signal, when that ended the call
   */
  async send<Result>(call: Call<Result>, options: RequestOptions = {}): Promise<Result> {
    refuseUnknownOptions(options, ['signal', 'timeout']);
    const timeout = timeoutOf(options.timeout ?? this.#options.timeout);
    const state: CallState = { timeout, signal: options.signal, refreshed: false, doubtful: false };
    for (let retries = 0; ; ) {
      try {
        return await this.#attempt(call, state);
      } catch (error) {
        if (!(error instanceof ServiceError) || state.signal?.aborted) throw error;
        if (this.#mayRefresh(error, state)) continue;
        // A DELETE that finds nothing on a retry means that the first attempt worked.
        if (call.method === 'DELETE' && state.doubtful && error instanceof NotFoundError) {
          return undefined as Result;
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

  /** After a 401 a token function is called once more. POST is sent again too, because a 401 did nothing. */
  #mayRefresh(error: ServiceError, state: CallState): boolean {
    const { refreshable } = this.#options.credential;
    if (!(error instanceof AuthenticationError) || state.refreshed || !refreshable) return false;
    state.refreshed = true;
    state.authorization = undefined;
    return true;
  }

  async #attempt<Result>(call: Call<Result>, state: CallState): Promise<Result> {
    const { root, credential, codec } = this.#options;
    const { method } = call;
    const url = root + call.path;
    const reading = () => {
      const redact = state.authorization ? redactor(state.authorization) : <Value>(value: Value) => value;
      return { endpoint: redact(`${method} ${new URL(url).pathname}`), redact, codec };
    };
    const timedOut = () => {
      const { endpoint } = reading();
      const message = `${endpoint} got no complete answer within ${state.timeout} ms (timeout).`;
      return new ConnectionError('TIMED_OUT', message);
    };
    return withTimeout(state, timedOut, async (signal) => {
      state.authorization ??= await credential.authorize({ refresh: state.refreshed, signal });
      const body = call.write && JSON.stringify(call.write(codec));
      const headers = {
        accept: 'application/json',
        authorization: state.authorization.header,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      };
      const known = reading();
      const answer = await sendRequest({ method, url, headers, body, signal }, this.#options, known);
      return readAnswer(answer, known, call.read);
    });
  }
}

/**
 * Settles like the work; or rejects with `timedOut()` after the timeout (0: never), or with the reason of the caller's
 * signal. The work gets a signal of its own, but need not listen to it.
 */
async function withTimeout<Value>(
  { timeout, signal }: Pick<CallState, 'timeout' | 'signal'>,
  timedOut: () => Error,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason));
  });
  const abort = () => controller.abort(signal?.reason);
  const timer = timeout > 0 ? setTimeout(() => controller.abort(timedOut()), timeout) : undefined;
  signal?.addEventListener('abort', abort);
  try {
    return await Promise.race([work(controller.signal), aborted]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
    // The part of the answer that was not read must not keep its socket.
    controller.abort();
  }
}
