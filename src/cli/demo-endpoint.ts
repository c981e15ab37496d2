// The endpoint of `simulate --demo`: a receiver that can be stopped, and started again where it was.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { receiver } from '../receiver.js';

export class DemoEndpoint {
  readonly #server;
  #port = 0;

  /** @param privateKey asked for every delivery, since keys can be rotated */
  constructor(privateKey: () => string) {
    const hooks = receiver({ privateKey, logger: false, handlers: { 'transaction.paid': () => {} } });
    this.#server = createServer(hooks);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/hooks`;
  }

  get running(): boolean {
    return this.#server.listening;
  }

  /** Rejects when the port is taken. */
  start(port: number = this.#port): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject).listen(port, '127.0.0.1', () => {
        this.#server.off('error', reject);
        this.#port = (this.#server.address() as AddressInfo).port;
        resolve();
      });
    });
  }

  async stop(): Promise<void> {
    if (!this.running) return;
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}
