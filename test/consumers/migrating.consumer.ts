// docs/migrating.md: the receivers of other services, and ours, each sent a delivery of its service and a forged one.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { fileIn } from '../setup/markdown.js';
import { ROOT } from '../setup/shell.js';
import { type Consumer, consumer } from './consumer.js';

const PAGE = join(ROOT, 'docs/migrating.md');
const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'test/lab/bench/package.json'), 'utf8'));
const PEERS = ['stripe', 'svix', '@octokit/webhooks'].map((name) => `${name}@${dependencies[name]}`);

/** Sends what `sign` makes of a body: once as it is, and once after a digit was changed. */
const DRIVER = `
import { once } from 'node:events';
export async function drive(app, body, headers) {
  const server = app.listen(0);
  await once(server, 'listening');
  const send = (sent) =>
    fetch('http://127.0.0.1:' + server.address().port + '/hooks', { method: 'POST', body: sent, headers: { 'Content-Type': 'application/json', ...headers } });
  console.log((await send(body)).status, (await send(body.replace('order-7', 'order-8'))).status);
  process.exit();
}
`;
const ORDERS = `export async function markPaid(orderId) { console.log(orderId, 'is paid'); }`;
const INBOX = `import { memoryInbox } from 'payment-webhooks'; export const inbox = memoryInbox();`;
const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

/** How each service signs, with the means of its own package. */
const SENDERS: readonly (readonly [string, string, number])[] = [
  [
    'stripe',
    `import Stripe from 'stripe';
     const body = JSON.stringify({ id: 'evt_1', object: 'event', type: 'payment_intent.succeeded', data: { object: { metadata: { order_id: 'order-7' } } } });
     const secret = process.env.WEBHOOK_SECRET;
     const headers = { 'Stripe-Signature': new Stripe('sk_test').webhooks.generateTestHeaderString({ payload: body, secret }) };`,
    400,
  ],
  [
    'svix',
    `import { Webhook } from 'svix';
     const body = JSON.stringify({ type: 'invoice.paid', data: { order_id: 'order-7' } });
     const now = new Date();
     const headers = {
       'svix-id': 'msg_1', 'svix-timestamp': String(Math.floor(now.getTime() / 1000)),
       'svix-signature': new Webhook(process.env.WEBHOOK_SECRET).sign('msg_1', now, body),
     };`,
    400,
  ],
  [
    'octokit',
    `import { Webhooks } from '@octokit/webhooks';
     const body = JSON.stringify({ action: 'closed', issue: { title: 'order-7' } });
     const signature = await new Webhooks({ secret: process.env.WEBHOOK_SECRET }).sign(body);
     const headers = { 'X-GitHub-Event': 'issues', 'X-GitHub-Delivery': '1', 'X-Hub-Signature-256': signature };`,
    400,
  ],
  [
    'after',
    `import { fixtures, signedDelivery } from 'payment-webhooks/testing';
     const event = fixtures.transactionPaid({ payload: { transaction: { order_id: 'order-7' } } });
     const { body, headers } = signedDelivery(event, { privateKey: process.env.SERVICE_PRIVATE_KEY });`,
    401,
  ],
];

let project: Consumer;

beforeAll(async () => {
  project = await consumer('migrating', [...PEERS, 'express@5']);
}, 240_000);

describe('docs/migrating.md', () => {
  test.each(SENDERS)(
    '%s takes a delivery of its service, and refuses a forged one',
    async (name, signing, refusal) => {
      project.write('driver.mjs', DRIVER);
      project.write('orders.mjs', ORDERS);
      project.write('inbox.js', INBOX);
      project.write(`${name}.mjs`, fileIn(PAGE, `${name}.mjs`));
      project.write(
        'send.mjs',
        `import { app } from './${name}.mjs'; import { drive } from './driver.mjs';\n${signing}\nawait drive(app, body, headers);`,
      );
      const env = `STRIPE_KEY=sk_test WEBHOOK_SECRET=${SECRET} SERVICE_PRIVATE_KEY=pri_after `;
      const { code, stdout } = await project.shell(`${env} node send.mjs`);
      expect({ code, lines: stdout.split('\n').filter((line) => !line.startsWith('{')) }).toEqual({
        code: 0,
        lines: ['order-7 is paid', `200 ${refusal}`, ''],
      });
    },
    60_000,
  );
});
