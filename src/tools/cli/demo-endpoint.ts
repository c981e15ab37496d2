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
  /** Kept when a new version is deployed. */
  readonly #stores = { store: memoryStore(), deadLetters: memoryDeadLetters({ max: MAX_LETTERS }) };
  readonly #currentKey: () => string;
  #key = '';
  #app: RequestListener;
  readonly #server = createServer((request, response) => this.#app(request, response));
  #port = 0;

  /** @param currentKey called at every start: like an app, the endpoint uses the old key until it restarts */
  constructor(currentKey: () => string) {
    this.#currentKey = currentKey;
    this.#app = this.#deploy('keeps undeclared');
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

  /** Deploys a version that handles the undeclared events, which are kept as dead letters until then. */
  handleUndeclared(): void {
    this.#key = this.#currentKey();
    this.#app = this.#deploy('handles undeclared');
  }

  /** Rejects when the port is in use. */
  async start(port: number = this.#port): Promise<void> {
    this.#key = this.#currentKey();
    await once(this.#server.listen(port, '127.0.0.1'), 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  stop(): Promise<void> {
    return closeServer(this.#server);
  }

  #deploy(version: 'keeps undeclared' | 'handles undeclared'): RequestListener {
    const hooks = receiver({
      ...this.#stores,
      privateKey: () => this.#key,
      handlers: { 'transaction.paid': () => {} },
      logger: false,
    });
    if (version === 'handles undeclared') hooks.onUnknown(() => {});
    const app = express();
    // `hosts` protects against DNS rebinding.
    app.use('/dead-letters', deadLetterPage(hooks, { authorize: () => 'demo', hosts: ['localhost'] }));
    app.use(hooks);
    return app;
  }
}
