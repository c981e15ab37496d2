// h3, which Nitro and Nuxt are built on: version 1 and 2, with the adapter that each has for handlers of Node.
import { afterAll, describe, expect, test } from '@jest/globals';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery } from '../setup/delivery.js';
import { send } from '../setup/endpoint.js';
import { freePort } from '../setup/ports.js';
import { type Running, startUntil } from '../setup/shell.js';
import { consumer } from './consumer.js';

const KEY = 'pri_h3';

const APPS = {
  'h3@1': `import { createApp, fromNodeMiddleware, toNodeListener } from 'h3';
const app = createApp().use('/hooks', fromNodeMiddleware(hooks));
createServer(toNodeListener(app))`,
  'h3@2': `import { fromNodeHandler, H3, toNodeHandler } from 'h3';
const app = new H3().post('/hooks', fromNodeHandler(hooks));
createServer(toNodeHandler(app))`,
};

const HOOKS = `import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { receiver } from 'payment-webhooks';
const hooks = receiver({
  handlers: {
    'transaction.paid': async ({ payload }) => {
      await pause(100);
      if (payload.transaction.order_id === 'fails') throw new Error('down');
    },
  },
});
`;

const open: Running[] = [];
afterAll(() => Promise.all(open.splice(0).map((program) => program.stop())));

describe.each(Object.entries(APPS))('on %s', (name, app) => {
  test('the answer of the receiver is sent, once the handler has ended', async () => {
    const project = await consumer(name.replace('@', '-'), [name]);
    project.write('app.mjs', `${HOOKS}${app}.listen(process.env.PORT, () => console.log('listening'));\n`);
    const port = await freePort();
    const env = { PORT: String(port), SERVICE_PRIVATE_KEY: KEY };
    open.push(await startUntil('listening', 'exec node app.mjs', env, project.folder));
    const event = fixtures.transactionPaid({ payload: { transaction: { order_id: 'fails' } } });
    const sent = delivery(fixtures.transactionPaid(), KEY);
    expect(await send(port, sent)).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    expect(await send(port, sent)).toMatchObject({ status: 200, body: { outcome: 'duplicate' } });
    expect(await send(port, delivery(event, KEY))).toMatchObject({ status: 500 });
    expect(await send(port, delivery(event, 'pri_another'))).toMatchObject({ status: 401 });
  }, 180_000);
});
