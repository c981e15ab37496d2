// The endpoint of `simulate --demo`: a receiver that can be stopped, and its dead-letter page.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { memoryDeadLetters } from '../../dead-letters/memory.js';
import { receiver } from '../../receiver.js';
import { memoryStore } from '../../stores/memory.js';
import { deadLetterPage } from '../dead-letter-page/server/dead-letter-page.js';
import { closeServer } from '../simulator/listen.js';

const MAX_LETTERS = 10_000;

export class DemoEndpoint {
  readonly #stores = { store: memoryStore(), deadLetters: memoryDeadLetters({ max: MAX_LETTERS }) };
  readonly #server = createServer((request, response) => this.#app(request, response));
  readonly #currentKey: () => string;
  #key = '';
  #port = 0;
  #app = this.#makeApp({ handlesUndeclared: false });

  /** @param currentKey called at every start: like an app, the endpoint uses the old key until it restarts */
  constructor(currentKey: () => string) {
    this.#currentKey = currentKey;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/hooks`;
  }

  get letters(): string {
    return `http://127.0.0.1:${this.#port}/dead-letters/`;
  }

  get running(): boolean {
    return this.#server.listening;
  }

  /** Rejects when the port is in use. */
  async start(port = this.#port): Promise<void> {
    this.#key = this.#currentKey();
    await once(this.#server.listen(port, '127.0.0.1'), 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  stop(): Promise<void> {
    return closeServer(this.#server);
  }

  /** Deploys an app that handles the undeclared events, which are kept as dead letters until then. */
  handleUndeclared(): void {
    this.#key = this.#currentKey();
    this.#app = this.#makeApp({ handlesUndeclared: true });
  }

  #makeApp({ handlesUndeclared }: { readonly handlesUndeclared: boolean }): RequestListener {
    const hooks = receiver({
      ...this.#stores,
      privateKey: () => this.#key,
      handlers: { 'transaction.paid': () => {} },
      logger: false,
    });
    if (handlesUndeclared) hooks.onUnknown(() => {});
    const app = express();
    // `hosts` protects against DNS rebinding.
    app.use('/dead-letters', deadLetterPage(hooks, { authorize: () => 'demo', hosts: ['localhost'] }));
    return app.use(hooks);
  }
}
