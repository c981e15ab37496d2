// One call of the service: credentials, bounds, repetition, and errors that say what to do.
import { refuseUnknownOptions } from '../unknown-option.js';
import { answerError } from './answer-error.js';
import type { Codec } from './codec.js';
import type { Authorization } from './credential.js';
import { pause, withinBounds } from './deadline.js';
import { AuthenticationError, ConnectionError, NotFoundError, ServiceError } from './errors.js';
import { exchange } from './exchange.js';
import { type RequestOptions, type Settings, timeoutOf } from './options.js';
import { type Reading, readAnswer } from './read-answer.js';
import { redactText, spellings } from './redact.js';
import { nextTry } from './retry.js';

/** A call, as the methods of the client describe it. */
export interface Call<Result> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `apiPath`. */
  readonly path: string;
  /** Makes the body; left out, there is none. */
  readonly write?: (codec: Codec) => unknown;
  /** Reads the answer; left out, nothing of it is needed. */
  readonly read?: (codec: Codec, body: unknown) => Result;
}

/** What is kept from one try to the next, so that a token function is asked once for the whole call. */
interface Attempts {
  readonly timeout: number;
  readonly signal: AbortSignal | undefined;
  authorization?: Authorization | undefined;
  refreshed: boolean;
  /** An earlier try may have reached the service although its answer did not reach us. */
  doubtful: boolean;
}

export class Requester {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /**
   * @throws {ServiceError} when the service refused, or no usable answer came
   * @throws the reason of the caller's signal, when that ended the call
   */
  async send<Result>(call: Call<Result>, options: RequestOptions = {}): Promise<Result> {
    refuseUnknownOptions(options, ['signal', 'timeout']);
    const timeout = timeoutOf(options.timeout ?? this.#settings.timeout);
    const attempts: Attempts = { timeout, signal: options.signal, refreshed: false, doubtful: false };
    for (let tried = 0; ; ) {
      try {
        return await this.#try(call, attempts);
      } catch (error) {
        if (!(error instanceof ServiceError) || attempts.signal?.aborted) throw error;
        if (this.#mayRefresh(error, attempts)) continue;
        // A repeated DELETE that finds nothing means that the first one worked.
        if (call.method === 'DELETE' && attempts.doubtful && error instanceof NotFoundError) {
          return undefined as Result;
        }
        const wait =
          tried < this.#settings.retries ? nextTry(error, { method: call.method, tried }) : undefined;
        if (wait === undefined) throw error;
        attempts.doubtful ||= error.status !== 429;
        tried += 1;
        await pause(wait, attempts.signal);
      }
    }
  }

  /** A token that was refused is asked for once more; POST too, because a 401 means that nothing was done. */
  #mayRefresh(error: ServiceError, attempts: Attempts): boolean {
    const { refreshable } = this.#settings.credential;
    if (!(error instanceof AuthenticationError) || attempts.refreshed || !refreshable) return false;
    attempts.refreshed = true;
    attempts.authorization = undefined;
    return true;
  }

  async #try<Result>(call: Call<Result>, attempts: Attempts): Promise<Result> {
    const { root, credential, fetch, maxResponseBytes, codec } = this.#settings;
    const url = root + call.path;
    const reading = (): Reading => {
      const secrets = attempts.authorization ? spellings(attempts.authorization) : [];
      return { what: redactText(`${call.method} ${new URL(url).pathname}`, secrets), secrets, codec };
    };
    const late = () => timedOut(reading().what, attempts.timeout);
    return withinBounds(attempts, late, async (signal) => {
      attempts.authorization ??= await credential.authorize({ refresh: attempts.refreshed, signal });
      const body = call.write && JSON.stringify(call.write(codec));
      const headers = {
        accept: 'application/json',
        authorization: attempts.authorization.header,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      };
      const known = reading();
      const request = { method: call.method, url, headers, body, signal };
      const answer = await exchange(request, { fetch, maxResponseBytes, ...known });
      if (answer.status < 200 || answer.status > 299) throw answerError(answer, known);
      return call.read ? readAnswer(answer, known, call.read) : (undefined as Result);
    });
  }
}

function timedOut(what: string, timeout: number): ConnectionError {
  return new ConnectionError('TIMED_OUT', `${what}: no complete answer within ${timeout} ms (timeout).`);
}
