// A bar on standard error that shows how far a command is; only in a terminal.
import type { Terminal } from './command.js';

const WIDTH = 24;

export class ProgressBar {
  readonly #stderr: Terminal['stderr'];

  constructor({ stderr }: Terminal) {
    this.#stderr = stderr;
  }

  /** @param more what else there is to say, without characters that control a terminal */
  show(done: number, total: number, more = ''): void {
    if (!this.#stderr.isTTY) return;
    const filled = total > 0 ? Math.floor((Math.min(done, total) / total) * WIDTH) : WIDTH;
    const bar = `${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}`;
    const text = `[${bar}] ${done} of ${total}${more === '' ? '' : `, ${more}`}`;
    // What wraps into a second line could not be erased.
    const room = (this.#stderr.columns || Number.POSITIVE_INFINITY) - 1;
    this.#stderr.write(`\r\u001b[K${text.slice(0, room)}`);
  }

  /** Leaves an empty line for what is printed next. */
  end(): void {
    if (this.#stderr.isTTY) this.#stderr.write('\r\u001b[K');
  }
}
