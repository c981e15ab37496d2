// Sends five deliveries to the app next to it, as the service would, and shows what became of each; then has the
// simulator send some, with its own retries; then kills an app with SQLite. `-- --stay` leaves everything running.
import { spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { styleText } from 'node:util';
import type { Logger } from 'payment-webhooks';
import { fixtures } from 'payment-webhooks/testing';

const KEY = 'pri_sim_demo';
process.env.SERVICE_PRIVATE_KEY = KEY;
// Only now: the receiver looks for its key when the app is loaded.
const { app } = await import('./app.js');
const { orders } = await import('./orders.js');
const { simulate } = await import('./simulate.js');
const { restart } = await import('./restart.js');

type HandlerRun = 'succeeded' | 'failed' | 'did not run';

interface Step {
  readonly title: string;
  readonly body: string;
  readonly signature: string;
  readonly note?: string;
  readonly expected: { readonly status: number; readonly body: object; readonly handler: HandlerRun };
}

/** The lines that the receiver and the handler log for one request. */
type Line = { readonly msg: string; readonly [field: string]: unknown };

const opensslVersion = spawnSync('openssl', ['version'], { encoding: 'utf8' }).stdout?.split(' (')[0]?.trim();

function sign(body: string): string {
  if (!opensslVersion) return createHmac('sha256', KEY).update(body).digest('hex');
  // Fine for a key that is no secret: the command line is visible to every process on the machine.
  const { stdout } = spawnSync('openssl', ['dgst', '-sha256', '-hmac', KEY], {
    input: body,
    encoding: 'utf8',
  });
  return /[0-9a-f]{64}/.exec(stdout)?.[0] ?? '';
}

function payment(order_id: string, amount: string): { body: string; signature: string } {
  const body = JSON.stringify(fixtures.transactionPaid({ payload: { transaction: { order_id, amount } } }));
  return { body, signature: sign(body) };
}

const first = payment('order-1042', '149.90');
const second = payment('order-1043', '20.00');
const tampered = first.body.replace('"amount":"149.90"', '"amount":"949.90"');
const processed = { received: true, outcome: 'processed' };

const steps: readonly Step[] = [
  {
    title: 'A payment arrives',
    ...first,
    expected: { status: 200, body: processed, handler: 'succeeded' },
  },
  {
    title: 'The service sends it again',
    ...first,
    note: 'the same bytes',
    expected: { status: 200, body: { received: true, outcome: 'duplicate' }, handler: 'did not run' },
  },
  {
    title: 'The amount is changed on the way',
    body: tampered,
    signature: first.signature,
    note: '149.90 became 949.90, the signature is the old one',
    expected: { status: 401, body: { message: 'Unauthenticated.' }, handler: 'did not run' },
  },
  {
    title: 'A payment arrives while the database is down',
    ...second,
    expected: {
      status: 500,
      body: {
        message: 'The event could not be processed. Please deliver it again.',
        code: 'HANDLER_FAILED',
      },
      handler: 'failed',
    },
  },
  {
    title: 'The database is back, and the service retries',
    ...second,
    note: 'the same bytes',
    expected: { status: 200, body: processed, handler: 'succeeded' },
  },
];

let lines: Line[] = [];
const server = createServer((request, response) => {
  // The receiver logs to `request.log` where there is one, as pino-http makes it. So these lines can be shown
  // next to the delivery that they are about.
  Object.assign(request, { log: recorder({}) });
  app(request, response);
});

function recorder(bound: object): Logger {
  const write = (fields: object | string, msg = '') =>
    void lines.push(typeof fields === 'string' ? { ...bound, msg: fields } : { ...bound, ...fields, msg });
  return { info: write, warn: write, error: write, child: (more) => recorder({ ...bound, ...more }) };
}

function handlerRun(): HandlerRun {
  if (lines.some(({ msg }) => msg === 'a handler failed')) return 'failed';
  return lines.some(({ msg }) => msg === 'order paid') ? 'succeeded' : 'did not run';
}

/** What the log says about the handler, in words. */
function handlerStory(): string {
  const failure = lines.find(({ msg }) => msg === 'a handler failed') as
    | { error: { type: string; at?: string[] } }
    | undefined;
  if (failure) return `failed: ${failure.error.type} at ${failure.error.at?.[0]?.split('/').at(-1)}`;
  const success = lines.find(({ msg }) => msg === 'order paid');
  const attempt = lines.find(({ msg }) => msg === 'delivery')?.attempt;
  return success ? `succeeded on attempt ${attempt}: ${success.order_id} is paid` : 'did not run';
}

async function run(url: string, step: Step, number: number): Promise<boolean> {
  lines = [];
  const { order_id, amount, currency } = JSON.parse(step.body).payload.transaction;
  const headers = { 'content-type': 'application/json', 'x-service-signature': step.signature };
  const response = await fetch(url, { method: 'POST', headers, body: step.body });
  const answer = await response.text();
  const { status, body, handler } = step.expected;
  const asExpected =
    response.status === status && answer === JSON.stringify(body) && handlerRun() === handler;
  const mark = asExpected ? styleText('green', '✓') : styleText('red', '✗');
  const note = step.note ? `; ${step.note}` : '';
  console.log(`${mark} ${number}. ${styleText('bold', step.title)}`);
  show('sent', `transaction.paid, ${order_id}, ${amount} ${currency}${note}`);
  show('signature', `${step.signature.slice(0, 16)}… over ${Buffer.byteLength(step.body)} bytes`);
  show('answer', `${response.status} ${answer}`);
  show('handler', handlerStory());
  if (!asExpected) show('expected', `${status} ${JSON.stringify(body)}, and that the handler ${handler}`);
  console.log();
  return asExpected;
}

function show(label: string, text: string): void {
  console.log(`     ${styleText('dim', label.padEnd(10))} ${text}`);
}

await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
console.log(`Five deliveries to examples/minimal, at ${url}`);
console.log(
  opensslVersion
    ? `Signed by the openssl program (${opensslVersion}), checked by payment-webhooks.\n`
    : 'There is no openssl program here, so they are signed by node:crypto; checked by payment-webhooks.\n',
);

let right = 0;
for (const [index, step] of steps.entries()) {
  orders.online = index !== 3;
  if (await run(url, step, index + 1)) right += 1;
}
console.log(
  right === steps.length
    ? styleText('green', `All ${right} steps ended as expected.\n`)
    : styleText('red', `${steps.length - right} of ${steps.length} steps did not end as expected.\n`),
);

const stay = process.argv.includes('--stay');
const simulated = await simulate({ url, privateKey: KEY, port: stay ? 4747 : 0 });
const remembered = await restart({ privateKey: KEY, ...payment('order-3001', '60.00') });
process.exitCode = right === steps.length && simulated.asExpected && remembered ? 0 : 1;

if (stay) {
  console.log(`\nThe page: ${simulated.page}\nThe app: ${url}\nCtrl-C ends both.`);
  await new Promise<void>((resolve) => {
    process.once('SIGINT', resolve).once('SIGTERM', resolve);
  });
}
await simulated.close();
server.close();
server.closeAllConnections();
