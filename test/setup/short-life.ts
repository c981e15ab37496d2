// The whole life of a process with a receiver: it must end by itself, although every deadline is a minute away.
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { receiver } from 'payment-webhooks';
import { constructEvent } from 'payment-webhooks/verify';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery, KEY, type SentDelivery } from './delivery.js';

const MINUTE = 60_000;
const validate = async () => undefined as never;
const schema: StandardSchemaV1 = { '~standard': { version: 1, vendor: 'test', validate } };
const events = { 'refund.made': schema };

const hooks = receiver({
  privateKey: async () => KEY,
  logger: false,
  events,
  handlers: {
    'transaction.paid': async ({ payload }) => {
      if (payload.transaction.status < 0) throw new Error('no');
    },
  },
  ...{ bodyTimeout: MINUTE, storeTimeout: MINUTE, timeout: MINUTE, lease: MINUTE, maxHandlerTime: MINUTE },
});
const server = createServer(hooks).listen(0, '127.0.0.1');
await once(server, 'listening');

const good = delivery();
const bad = delivery(fixtures.transactionPaid({ payload: { transaction: { status: -1 } } }));
const refund = delivery(fixtures.event('refund.made', {}));
const forged = delivery(undefined, 'pri_other');
const statuses: number[] = [];
for (const sent of [good, good, bad, refund, forged]) statuses.push(await post(sent));
statuses.push((await hooks.receive({ rawBody: good.body, headers: good.headers })).status);

try {
  const { body, headers } = refund;
  constructEvent({ rawBody: body, signature: headers['x-service-signature'], privateKey: KEY, events });
} catch (error) {
  console.log((error as Error).name);
}
server.close();
console.log(statuses.join(' '));

function post({ body, headers }: SentDelivery): Promise<number> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', method: 'POST', agent: false, headers }, (incoming) => {
      incoming.resume().once('end', () => resolve(incoming.statusCode ?? 0));
    })
      .once('error', reject)
      .end(body);
  });
}
