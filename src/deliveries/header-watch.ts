// Reports that no request of the first minute had the signature header: its name is probably wrong.
import type { IncomingHttpHeaders } from 'node:http';
import { type Logger, writeLog } from '../logger.js';

const FIRST_MINUTE_MS = 60_000;

/** Each request without the header is a warning of its own. If all are, no payment arrives, which is an error. */
export class HeaderWatch {
  readonly #name: string;
  readonly #logger: () => Logger;
  #requests = 0;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(name: string, logger: () => Logger) {
    this.#name = name;
    this.#logger = logger;
  }

  record(headers: IncomingHttpHeaders): void {
    if (this.#ended) return;
    if (headers[this.#name]) this.stop();
    else if (hasBody(headers)) this.#count();
  }

  #count(): void {
    this.#requests += 1;
    this.#timer ??= setTimeout(() => this.#report(), FIRST_MINUTE_MS);
    // It keeps no process alive. In a Worker it is a number.
    this.#timer.unref?.();
  }

  stop(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }

  #report(): void {
    this.stop();
    writeLog(
      this.#logger(),
      'error',
      { option: 'signatureHeader', requests: this.#requests },
      `no request of the first minute had the header ${this.#name}, so each was answered 401. If they were deliveries, set the ` +
        'option signatureHeader to the name that the service sends',
    );
  }
}

/** A request without one, such as that of a health check, is not a delivery. */
function hasBody(headers: IncomingHttpHeaders): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding, 'content-type': type } = headers;
  return Number(length) > 0 || encoding !== undefined || (length === undefined && type !== undefined);
}
