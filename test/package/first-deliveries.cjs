// `node first-deliveries.cjs ESM|CommonJS [removed]`: prints how the first delivery of each kind is answered. With `removed`, the files that
// are loaded for the first misfit and for the first body of unknown length are removed after the start, as a deployment does.
const { createHmac } = require('node:crypto');
const { createServer, request } = require('node:http');
const { connect } = require('node:net');
const { once } = require('node:events');
const { rmSync } = require('node:fs');
const { join } = require('node:path');

const [, , mode, removed] = process.argv;
const privateKey = 'pri_first';
const transaction = { id: 'tx-1', amount: '1.00', status: 1, currency: 'EUR', order_id: 'order-1' };
const event = (id, payload) =>
  JSON.stringify({ id, event_name: 'transaction.paid', sandbox: false, payload });
const sign = (body) => createHmac('sha256', privateKey).update(body).digest('hex');

async function main() {
  const { memoryDeadLetters, receiver } = await (mode === 'ESM'
    ? import('payment-webhooks')
    : require('payment-webhooks'));
  if (removed) {
    const half = join(__dirname, 'node_modules/payment-webhooks/dist', mode === 'ESM' ? 'esm' : 'cjs');
    for (const file of ['events/schemas.js', 'http/chunked-body.js']) rmSync(join(half, file));
  }
  const hints = new Set();
  const error = ({ hint = '' }) => hints.add(/^The receiver could not load .*? Restart it/.exec(hint)?.[0]);
  const logger = { info() {}, warn() {}, error };
  const handlers = { 'transaction.paid': () => {} };
  let settled;
  const aborted = new Promise((resolve) => {
    settled = ({ status, code }) => status === 0 && resolve(code);
  });
  const hooks = receiver({ privateKey, logger, handlers, observer: { settled } });
  const server = createServer(hooks).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();

  async function deliver(body, headers) {
    const head = { 'x-service-signature': sign(body), ...headers };
    const sent = request({ port, host: '127.0.0.1', method: 'POST', headers: head });
    sent.end(body);
    const [response] = await once(sent, 'response');
    let text = '';
    for await (const chunk of response) text += chunk;
    const { outcome, code, issues } = JSON.parse(text);
    return [response.statusCode, outcome ?? code, ...(issues ?? []).map(({ path }) => path)];
  }

  const answers = {};
  const withLength = (body) => deliver(body, { 'content-length': Buffer.byteLength(body) });
  answers['that fits'] = await withLength(event('fits', { transaction }));

  // The sender leaves as soon as the receiver has its first bytes, which is while raw-body is loaded.
  const sender = connect(port, '127.0.0.1');
  server.once('request', () => sender.resetAndDestroy());
  const head = `POST / HTTP/1.1\r\nHost: a\r\nX-Service-Signature: ${sign('')}\r\nTransfer-Encoding: chunked\r\n\r\n`;
  sender.on('error', () => {}).write(`${head}4\r\n{"id\r\n`);
  if (!removed) answers['that is aborted'] = await aborted;
  answers['in chunks'] = await deliver(event('chunks', { transaction }), { 'transfer-encoding': 'chunked' });

  answers['with a list for a map'] = await withLength(event('list', { transaction, metadata: [] }));
  answers['without a transaction'] = await withLength(event('bare', {}));
  answers['of no event'] = await withLength('{"id":"none"}');
  await hooks.close();
  server.close();

  const keeping = receiver({ privateKey, logger, handlers, deadLetters: memoryDeadLetters() });
  for (const rawBody of [event('kept', { transaction: null }), '{"id":"none"}'])
    await keeping.receive({ rawBody, headers: { 'x-service-signature': sign(rawBody) } });
  answers.letters = [];
  for await (const { reason } of keeping.deadLetters.list()) answers.letters.push(reason);
  await keeping.close();
  console.log(JSON.stringify({ answers, hints: [...hints].filter(Boolean) }));
}

main();
