// Attacks on the installed package, one after the other. Each prints a line when it was held off; the first that is not ends the program.
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { fork } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { constructEvent, memoryStore, receiver } from 'payment-webhooks';
import { fixtures } from 'payment-webhooks/testing';

const KEY = 'pri_5f2c9a7e4b1d4f0a8c3e6d9b';
const SANDBOX_KEY = 'pri_sandbox_5f2c9a7e4b1d4f0a';

function delivery(event = fixtures.transactionPaid(), key = KEY) {
  const body = JSON.stringify(event);
  const signature = createHmac('sha256', key).update(body).digest('hex');
  return { body, headers: { 'content-type': 'application/json', 'x-service-signature': signature } };
}

/** A server for the time of one attack. */
async function attacked(options, use, middleware = (_req, _res, next) => next()) {
  const hooks = receiver({ privateKey: KEY, logger: false, ...options });
  const server = createServer((req, res) => middleware(req, res, () => hooks(req, res)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    await use({ port: server.address().port, hooks });
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

function post(port, { body, headers }, more = {}) {
  return new Promise((resolve, reject) => {
    const outgoing = request({ port, host: '127.0.0.1', method: 'POST', headers: { ...headers, ...more } });
    outgoing.once('error', reject).once('response', async (incoming) => {
      const text = (await incoming.setEncoding('utf8').toArray()).join('');
      resolve({ status: incoming.statusCode, ...JSON.parse(text) });
    });
    outgoing.end(body);
  });
}

async function chunksOfOneByte() {
  const [senders, limit] = [200, 16_384];
  const server = fork(fileURLToPath(import.meta.url), ['serve', String(limit)], {
    execArgv: ['--max-old-space-size=128'],
  });
  try {
    const [port] = await once(server, 'message');
    const head = `POST / HTTP/1.1\r\nHost: x\r\nX-Service-Signature: ${'a'.repeat(64)}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const sockets = Array.from({ length: senders }, () => connect(port, '127.0.0.1'));
    const sent = sockets.map((socket) => {
      socket.on('error', () => {});
      return new Promise((done) => socket.write(head + '1\r\nx\r\n'.repeat(limit - 1), done));
    });
    await Promise.all(sent);
    assert.equal((await post(port, delivery())).status, 200);
    server.send('memory');
    const [{ inFlight, rss }] = await once(server, 'message');
    assert.equal(inFlight, senders);
    assert.ok(rss < 400_000_000, `${rss} bytes`);
    for (const socket of sockets) socket.destroy();
    assert.equal(server.exitCode, null);
  } finally {
    server.kill();
  }
}

async function impossibleLimit() {
  for (const limit of ['5gb', Number.MAX_SAFE_INTEGER, 2 ** 32])
    assert.throws(() => receiver({ privateKey: KEY, limit }), { code: 'CONFIGURATION_INVALID' });
}

async function handlerThatObeysItsSignal() {
  const attempts = [];
  const handler = async (_event, { signal, attempt }) => {
    attempts.push(attempt);
    if (attempt > 1) return;
    await once(signal, 'abort');
    if (signal.aborted) return;
  };
  await attacked({ timeout: 50, handlers: { '*': handler } }, async ({ port, hooks }) => {
    const sent = delivery();
    assert.equal((await post(port, sent)).status, 503);
    while (hooks.inFlight > 0) await pause(5);
    assert.equal((await post(port, sent)).outcome, 'processed');
    assert.deepEqual(attempts, [1, 2]);
  });
}

async function claimThatComesTooLate() {
  const store = memoryStore();
  const slow = { claim: async (...claim) => pause(150).then(() => store.claim(...claim)) };
  let runs = 0;
  await attacked({ store: slow, lease: 100, handlers: { '*': () => (runs += 1) } }, async ({ port }) => {
    const { status, code } = await post(port, delivery());
    assert.deepEqual([status, code, runs], [503, 'STORE_UNAVAILABLE', 0]);
  });
}

async function keyAsBytes() {
  const bytes = Buffer.from(SANDBOX_KEY);
  const { body, headers } = delivery(fixtures.transactionPaid({ sandbox: false }), SANDBOX_KEY);
  const signature = headers['x-service-signature'];
  const mode = { code: 'KEY_MODE_MISMATCH' };
  assert.throws(() => constructEvent({ rawBody: body, signature, privateKey: bytes }), mode);
  const broken = { code: 'CONFIGURATION_INVALID' };
  assert.throws(() => receiver({ privateKey: Buffer.from(`${KEY}\n`) }), broken);
  await attacked({ privateKey: bytes, handlers: { '*': () => {} } }, async ({ port }) => {
    assert.equal((await post(port, { body, headers })).status, 401);
  });
}

async function contextOfAnotherRequest() {
  const storage = new AsyncLocalStorage();
  const seen = [];
  const handler = ({ id }, { signal }) =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve(seen.push(id === storage.getStore())));
    });
  const identify = (req, _res, next) => storage.run(req.headers['x-id'], next);
  const use = async ({ port }) => {
    const one = async (id) => post(port, delivery(fixtures.transactionPaid({ id })), { 'x-id': id });
    await Promise.all(['a', 'b', 'c'].map(one));
    assert.deepEqual(seen, [true, true, true]);
  };
  await attacked({ timeout: 50, handlers: { '*': handler } }, use, identify);
}

async function pausedRequest() {
  const pauses = (req, _res, next) => next(req.pause());
  const options = { bodyTimeout: 2_000, handlers: { '*': () => {} } };
  await attacked(
    options,
    async ({ port }) => {
      for (const more of [{}, { 'transfer-encoding': 'chunked' }])
        assert.equal((await post(port, delivery(), more)).status, 200);
    },
    pauses,
  );
}

async function errorOnALiveRequest() {
  const fails = (req, _res, next) => {
    setTimeout(() => req.emit('error', new Error('of a middleware')), 20);
    next();
  };
  const use = async ({ port }) => {
    const socket = connect(port, '127.0.0.1');
    socket.write(
      `POST / HTTP/1.1\r\nHost: x\r\nX-Service-Signature: ${'a'.repeat(64)}\r\nContent-Length: 9\r\n\r\n12`,
    );
    await Promise.race([once(socket, 'close'), pause(5_000).then(() => assert.fail('still open'))]);
  };
  await attacked({}, use, fails);
}

async function writeHeadThatReturnsNothing() {
  const quiet = (_req, res, next) => {
    const { writeHead } = res;
    res.writeHead = (...head) => void writeHead.apply(res, head);
    next();
  };
  const use = async ({ port }) => assert.equal((await post(port, delivery())).status, 200);
  await attacked({ handlers: { '*': () => {} } }, use, quiet);
}

const attacks = [
  chunksOfOneByte,
  impossibleLimit,
  handlerThatObeysItsSignal,
  claimThatComesTooLate,
  keyAsBytes,
  contextOfAnotherRequest,
  pausedRequest,
  errorOnALiveRequest,
  writeHeadThatReturnsNothing,
];

/** The server that is attacked with little memory, in a process of its own. */
function serve(limit) {
  const hooks = receiver({
    privateKey: KEY,
    logger: false,
    limit,
    bodyTimeout: 120_000,
    handlers: { '*': () => {} },
  });
  const server = createServer(hooks).listen(0, '127.0.0.1', () => process.send(server.address().port));
  process.on('message', () => process.send({ inFlight: hooks.inFlight, rss: process.memoryUsage().rss }));
}

if (process.argv[2] === 'serve') {
  serve(Number(process.argv[3]));
} else {
  for (const attack of attacks) {
    await attack();
    console.log(`held off: ${attack.name}`);
  }
}
