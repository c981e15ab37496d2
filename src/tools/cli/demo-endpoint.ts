// The endpoint of `simulate --demo`: a receiver that can be stopped, and its dead-letter page.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { receiver } from '../../receiver.js';
import { memoryDeadLetters } from '../../stores/letters/memory.js';
import { memoryStore } from '../../stores/memory.js';
import { deadLetterPage } from '../letters/server/dead-letter-page.js';
import { closeServer } from '../simulator/listen.js';

const MAX_LETTERS = 10_000;

export type DemoEndpoint = ReturnType<typeof demoEndpoint>;

/** @param currentKey called at every start: like an app, the endpoint uses the old key until it restarts */
export function demoEndpoint(currentKey: () => string) {
  const stores = { store: memoryStore(), deadLetters: memoryDeadLetters({ max: MAX_LETTERS }) };
  let key = '';
  let usedPort = 0;
  const makeApp = ({ handlesUndeclared = false } = {}): RequestListener => {
    const handlers = { 'transaction.paid': () => {} };
    const hooks = receiver({ ...stores, privateKey: () => key, handlers, logger: false });
    if (handlesUndeclared) hooks.onUnknown(() => {});
    const app = express();
    // `hosts` protects against DNS rebinding.
    app.use('/dead-letters', deadLetterPage(hooks, { authorize: () => 'demo', hosts: ['localhost'] }));
    return app.use(hooks);
  };
  let app = makeApp();
  const server = createServer((request, response) => app(request, response));
  return {
    get url() {
      return `http://127.0.0.1:${usedPort}/hooks`;
    },
    get letters() {
      return `http://127.0.0.1:${usedPort}/dead-letters/`;
    },
    get running() {
      return server.listening;
    },
    /** Rejects when the port is in use. */
    async start(port = usedPort): Promise<void> {
      key = currentKey();
      await once(server.listen(port, '127.0.0.1'), 'listening');
      usedPort = (server.address() as AddressInfo).port;
    },
    stop: () => closeServer(server),
    /** Deploys an app that handles the undeclared events, which are kept as dead letters until then. */
    handleUndeclared(): void {
      key = currentKey();
      app = makeApp({ handlesUndeclared: true });
    },
  };
}
