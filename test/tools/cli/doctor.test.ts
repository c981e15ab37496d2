import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import express from 'express';
import { cachedKeys, memoryDeadLetters, type ReceiverOptions, receiver } from 'payment-webhooks';
import { z } from 'zod';
import { hmac } from '../../setup/delivery.js';
import { refusingPort } from '../../setup/ports.js';
import { failed, jsonLines, runCli, type Setting } from './run-cli.js';

const KEY = 'pri_doctor_test';
const setting: Setting = { env: { SERVICE_PRIVATE_KEY: KEY } };

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
}

interface Line {
  check: string;
  passed: boolean | null;
  got?: string;
  cure?: string;
  skipped?: string;
}

/** Short enough for an app that never answers, and long enough for one that would on a busy machine. */
const WAIT = ['--timeout', '4s'];

const doctor = async (listener: RequestListener, ...args: string[]) =>
  runCli(['doctor', await serve(listener), ...args], setting);

async function examine(listener: RequestListener, ...args: string[]) {
  const { code, stdout, stderr } = await doctor(listener, '--json', ...WAIT, ...args);
  const lines: Line[] = jsonLines({ stdout });
  const end: unknown = lines.pop();
  const failed = lines.filter(({ passed }) => passed === false);
  const cureOf = (part: string) => failed.find(({ check }) => check.includes(part))?.cure;
  return { code, stderr, lines, failed, end, cureOf };
}

const handlers: ReceiverOptions['handlers'] = { '*': () => {} };
const hooks = (options: ReceiverOptions = {}) =>
  receiver({ privateKey: KEY, logger: false, bodyTimeout: 300, handlers, ...options });
const mounted = (handler: RequestListener) => {
  const app = express();
  app.post('/hooks', handler as express.RequestHandler);
  return app;
};
const digest = (body: string | Buffer) => hmac(body, KEY);
const header = 'x-service-signature';

const bodyOf = async (request: unknown) =>
  Buffer.concat(await (request as { toArray(): Promise<Buffer[]> }).toArray());

/** An app with `express.json()` before its endpoint. */
const parsing = (endpoint: express.RequestHandler) => express().use(express.json()).post('/hooks', endpoint);

/** Apps that leave a check unanswered. Each waits for it, so they are all examined at the same time. */
const UNANSWERED = {
  ofParsedBody: parsing((request, response) => {
    const signed = digest(JSON.stringify(request.body));
    response.sendStatus(request.get(header) === signed ? 200 : 401);
  }),
  ofLeadingDigits: mounted(async (request, response) => {
    const body = await bodyOf(request);
    const given = Buffer.from(String(request.headers[header]), 'hex');
    response.writeHead(given.toString('hex') === digest(body) ? 200 : 401).end();
  }),
  endlessAnswer: (_, response) => void response.writeHead(418).write('{'),
  noLimits: mounted(async (request, response) => {
    const body = await bodyOf(request);
    if (request.headers[header] === digest(body) && body.length < 100_000) response.end('{}');
    else if (body.length >= 100_000) request.socket.destroy();
    else response.writeHead(401).end();
  }),
  longBodyTimeout: mounted(hooks({ bodyTimeout: 60_000 })),
} satisfies Record<string, RequestListener>;
type Examinations = { [Name in keyof typeof UNANSWERED]: ReturnType<typeof examine> };

let examined: Examinations;
let minimal: ReturnType<typeof runCli>;
beforeAll(() => {
  process.env.SERVICE_PRIVATE_KEY = KEY;
  const started = Object.entries(UNANSWERED).map(([name, app]) => [name, examine(app)]);
  examined = Object.fromEntries(started) as Examinations;
  // It waits for the default bodyTimeout of the receiver.
  minimal = import('../../../examples/minimal/app.js').then(({ app }) => doctor(app));
});

describe('an app with receiver()', () => {
  test('passes every check too when cachedKeys() asks for a retry of forged deliveries', async () => {
    const privateKey = cachedKeys(async () => KEY);
    const { code, failed, lines } = await examine(mounted(hooks({ privateKey })));
    expect(failed).toEqual([]);
    expect(lines.filter(({ got }) => got === '503')).not.toEqual([]);
    expect(code).toBe(0);
  });

  test('passes every check, exit code 0, and its handlers see recognisable sandbox events only', async () => {
    const seen: unknown[] = [];
    const handlers: ReceiverOptions['handlers'] = {
      'transaction.paid': ({ sandbox, payload }) => {
        seen.push([sandbox, payload.transaction.order_id, payload.metadata?.type]);
      },
    };
    const { code, failed, end, lines } = await examine(mounted(hooks({ handlers })));
    expect(failed).toEqual([]);
    expect({ code, end }).toEqual({ code: 0, end: { passed: lines.length, failed: 0, skipped: 0 } });
    const checks = lines.map(({ check }) => check).join('\n');
    const names = [
      ...['a valid delivery', 'the same delivery again', 'tampered', 'no signature', 'another key'],
      ...['upper case', 'reserialized after signing', '300 KB', 'GET', 'never ends', 'after all that'],
    ];
    for (const name of names) expect(checks).toContain(name);
    expect(seen).toEqual(Array(4).fill([true, 'doctor-test', 'doctor-test']));
  });

  test('passes when it takes sandbox events only', async () => {
    expect((await examine(mounted(hooks({ sandbox: 'only' })))).code).toBe(0);
  });

  test('passes with another name of the header, if that is given', async () => {
    const app = mounted(hooks({ signatureHeader: 'X-Pay-Signature' }));
    expect((await examine(app, '--header', 'X-Pay-Signature')).code).toBe(0);
    expect((await examine(app, '--signature-header', 'X-Pay-Signature')).code).toBe(0);
    const { code, cureOf } = await examine(app);
    expect(code).toBe(1);
    expect(cureOf('a valid delivery')).toContain('--header');
  });

  test('prints a checklist for a person, with what came back', async () => {
    const url = await serve(mounted(hooks()));
    const { code, stdout, stderr } = await runCli(['doctor', url], setting);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`Sending signed sandbox events with the order_id "doctor-test" to ${url}.`);
    expect(stdout).toMatch(/^pass {2}a valid delivery +200$/m);
    expect(stdout).toMatch(/^pass {2}a body that never ends +408$/m);
    expect(stdout).toMatch(/\n\d+ passed, 0 failed\. Nothing to fix\.\n$/);
  });

  test('shows progress on a terminal while it runs, and clears the line', async () => {
    const url = await serve(mounted(hooks()));
    const { stderr } = await runCli(['doctor', url], { ...setting, tty: true });
    expect(stderr).toMatch(/… \d+ of \d+/);
    expect(stderr).toContain('waiting for the endpoint to stop reading');
    expect(stderr.endsWith('\r\u001b[K')).toBe(true);
  });
});

describe('names the cause and the fix of a mistake, exit code 1', () => {
  const acceptsAll = mounted((_, response) => void response.end('{}'));

  test('express.json() before receiver(): the line to change', async () => {
    const { code, cureOf } = await examine(parsing(hooks() as express.RequestHandler));
    expect(code).toBe(1);
    expect(cureOf('a valid delivery')).toContain('express.json() runs before receiver()');
    expect(cureOf('a valid delivery')).toContain(
      "app.use(express.json({ limit: '256kb', verify: keepRawBody }))",
    );
  });

  test('prints the same cause once', async () => {
    const { stdout } = await doctor(acceptsAll, ...WAIT);
    expect(stdout.split('A FORGED DELIVERY WAS ACCEPTED')).toHaveLength(2);
    const repeated = /FAIL {2}a line break added after signing +200\n +as for "no signature"\n/;
    expect(stdout).toMatch(repeated);
  });

  test('express.json() before a hand-written check of req.body', async () => {
    const app = parsing((request, response) => {
      response.sendStatus(request.get(header) === digest(request.body) ? 200 : 401);
    });
    const { cureOf } = await examine(app);
    expect(cureOf('a valid delivery')).toContain('Move app.post(…, receiver()) above');
  });

  test('a check of JSON.stringify(req.body)', async () => {
    const { code, cureOf, failed } = await examined.ofParsedBody;
    expect(code).toBe(1);
    expect(failed.map(({ check }) => check)).not.toContain('a valid delivery');
    for (const check of ['other spacing', 'reserialized after signing']) {
      expect(cureOf(check)).toContain('JSON.stringify(req.body)');
    }
  });

  test('no check at all', async () => {
    const { code, cureOf, failed } = await examine(acceptsAll);
    expect(code).toBe(1);
    expect(cureOf('no signature')).toContain('FORGED');
    // Nothing tells whether the app parses the body first.
    expect(cureOf('reserialized after signing')).not.toContain('The app checks');
    expect(failed.length).toBeGreaterThan(10);
  });

  test('a check that stops at the first bad digit', async () => {
    const { failed } = await examined.ofLeadingDigits;
    const signatures = ['in upper case', 'with one digit too many', 'followed by garbage'];
    const checks = [...signatures.map((fault) => `a signature ${fault}`), 'a body that never ends'];
    expect(failed.map(({ check }) => check)).toEqual(checks);
  });

  test('a handler that runs twice for the same event', async () => {
    const { failed, cureOf } = await examine(mounted(hooks({ store: false })));
    expect(failed.map(({ check }) => check)).toEqual(['the same delivery again']);
    expect(cureOf('again')).toContain('handled twice');
  });

  test('a repeated delivery that is refused', async () => {
    const seen = new Set<string>();
    const endpoint = hooks();
    const app = mounted((request, response) => {
      const signature = String(request.headers[header]);
      if (seen.has(signature)) return void response.writeHead(409).end();
      seen.add(signature);
      endpoint(request, response, () => {});
    });
    const { cureOf } = await examine(app);
    expect(cureOf('the same delivery again')).toContain('Answer 2xx for an event that was already handled');
    expect(cureOf('the same delivery again')).not.toContain('handled twice');
  });

  test('an answer whose body does not end counts by its status', async () => {
    const { failed } = await examined.endlessAnswer;
    expect(failed).toMatchObject([{ check: 'a valid delivery', got: '418' }]);
  });

  const failing = () => {
    throw new Error('no such order');
  };
  test.each<[string, RequestListener, string]>([
    ['another key', mounted(hooks({ privateKey: 'pri_other' })), 'the app has another key'],
    ['a handler that fails', mounted(hooks({ handlers: { '*': failing } })), 'see its log'],
    ['another path', express(), 'There is no route at this path'],
    ['a redirect', (_, response) => void response.writeHead(308, { location: '/x' }).end(), 'redirects'],
    ['a sign-in before it', (_, response) => void response.writeHead(403).end(), 'CSRF'],
    ['a connection that is cut', (request) => void request.socket.destroy(), 'Answer every delivery'],
    ['another answer', (_, response) => void response.writeHead(418).end('{"code":"TEAPOT"}'), 'TEAPOT'],
  ])('%s', async (_, listener, cure) => {
    const { code, cureOf } = await examine(listener);
    expect(code).toBe(1);
    expect(cureOf('a valid delivery')).toContain(cure);
  });

  test('no limit to the time or the size of a body', async () => {
    const { cureOf } = await examined.noLimits;
    expect(cureOf('never ends')).toContain('bodyTimeout');
    expect(cureOf('300 KB')).toContain('Send 413');
  });

  test('no answer at all', async () => {
    const { code, stdout } = await doctor(() => {}, '--timeout', '30ms');
    expect(code).toBe(1);
    expect(stdout).toMatch(/FAIL {2}a valid delivery +no answer within 0.03 s\n/);
    expect(stdout).toContain('raise --timeout');
  });

  test('a --timeout that is shorter than the limit of the app is named', async () => {
    const { failed, cureOf } = await examined.longBodyTimeout;
    expect(failed).toMatchObject([{ check: 'a body that never ends', got: 'no answer within 4 s' }]);
    expect(cureOf('never ends')).toContain('--timeout');
    expect(cureOf('never ends')).not.toContain('for ever');
  });
});

describe('an endpoint that answers 200 ignored', () => {
  const otherEvent = {
    events: { 'refund.succeeded': z.looseObject({}) },
    handlers: { 'refund.succeeded': () => {} },
  } as ReceiverOptions;

  test.each<[string, ReceiverOptions]>([
    ['has no handler for the event', otherEvent],
    ['has no handler at all', { handlers: {} }],
    ["has the option sandbox: 'ignore'", { sandbox: 'ignore' }],
  ])('fails when it %s, and names both causes', async (_, options) => {
    const { code, failed, lines, end, cureOf } = await examine(mounted(hooks(options)));
    expect(code).toBe(1);
    expect(failed.map(({ check, got }) => [check, got])).toEqual([
      ['a valid delivery', '200 ignored'],
      ['a valid delivery with other spacing', '200 ignored'],
      ['a valid delivery after all that', '200 ignored'],
    ]);
    expect(cureOf('a valid delivery')).toMatch(
      /^It answered 200 ignored: no handler ran\. .*no handler is registered for transaction\.paid.*option sandbox is 'ignore'/,
    );
    const skipped = 'no handler ran for the first delivery';
    expect(lines).toContainEqual({ check: 'the same delivery again', passed: null, skipped });
    expect(end).toEqual({ passed: lines.length - 4, failed: 3, skipped: 1 });
  });

  test('names the schema when it answers 200 kept', async () => {
    const strict = { events: { 'transaction.paid': z.looseObject({ token: z.string() }) } };
    const options = { ...strict, deadLetters: memoryDeadLetters() } as unknown as ReceiverOptions;
    const { code, failed, cureOf } = await examine(mounted(hooks(options)));
    expect(code).toBe(1);
    expect(failed[0]).toMatchObject({ check: 'a valid delivery', got: '200 kept' });
    expect(cureOf('a valid delivery')).toMatch(/does not match the schema that the app declares/);
  });

  test('prints the cause once, and counts the failures in the summary', async () => {
    const { stdout } = await doctor(mounted(hooks({ sandbox: 'ignore' })), ...WAIT);
    expect(stdout).toMatch(/^FAIL {2}a valid delivery +200 ignored$/m);
    expect(stdout.split('no handler ran. ')).toHaveLength(2);
    expect(stdout).toMatch(/3 failed, 1 skipped: no handler ran for the first delivery\. Fix these/);
  });

  test('counts by its status alone when the answer names no outcome', async () => {
    const endpoint = hooks();
    const app = mounted((request, response) => {
      const end = response.end.bind(response);
      response.end = ((text: string) => end(text.replace('outcome', 'result'))) as typeof response.end;
      endpoint(request, response, () => {});
    });
    expect(await examine(app)).toMatchObject({ code: 0, failed: [], end: { failed: 0, skipped: 0 } });
  });
});

describe('where the valid delivery is not accepted', () => {
  const apps: [string, RequestListener, string][] = [
    ['another path', express(), '404'],
    ['another key', hooks({ privateKey: 'pri_other' }), '401'],
    [
      'nothing but 200 for what is forged',
      async (request, response) => {
        await bodyOf(request);
        response.writeHead(String(request.headers[header]).length === 64 ? 500 : 200).end();
      },
      '500',
    ],
  ];

  test.each(apps)('the other checks are skipped, and not passed: %s', async (_, listener, got) => {
    let requests = 0;
    const { code, lines, end, stderr } = await examine((request, response) => {
      requests += 1;
      listener(request, response);
    });
    const [first, ...others] = lines;
    expect(first).toMatchObject({ check: 'a valid delivery', passed: false, got });
    expect(others.length).toBeGreaterThan(15);
    const skipped = 'the valid delivery was not accepted';
    expect(others).toEqual(others.map(({ check }) => ({ check, passed: null, skipped })));
    expect({ code, stderr, requests }).toEqual({ code: 1, stderr: '', requests: 1 });
    expect(end).toEqual({ passed: 0, failed: 1, skipped: others.length });
  });

  test('the checklist says so', async () => {
    const { stdout } = await doctor(express());
    const skip = /^skip {2}\d\d other checks +the valid delivery was not accepted$/;
    expect(stdout.match(/^skip .*$/gm)).toEqual([expect.stringMatching(skip)]);
    expect(stdout).toMatch(
      /\n0 passed, 1 failed, \d\d skipped: the valid delivery was not accepted\. Fix this and run it again\.\n$/,
    );
    expect(stdout).not.toContain('handled twice');
    expect(stdout).not.toMatch(/^pass/m);
  });
});

test('the endpoint may be given as simulate --forward takes it', async () => {
  const { port } = new URL(await serve(express()));
  const { stdout } = await runCli(['doctor', `${port}/hooks`], setting);
  expect(stdout).toContain(`to http://localhost:${port}/hooks.`);
  expect(stdout).toMatch(/^FAIL {2}a valid delivery .*404$/m);
});

describe('the examples', () => {
  test('minimal passes everything, exit code 0', async () => {
    const { code, stdout } = await minimal;
    expect(stdout).not.toContain('FAIL');
    expect(stdout).toMatch(/\d\d passed, 0 failed\. Nothing to fix\.\n$/);
    expect(code).toBe(0);
  }, 60_000);

  test('the wrong one of existing-app names the line to change, exit code 1', async () => {
    const { app } = await import('../../../examples/existing-app/wrong.js');
    const { code, stdout } = await doctor(app, ...WAIT);
    expect(stdout).toContain(
      "or change that line to app.use(express.json({ limit: '256kb', verify: keepRawBody }))",
    );
    expect(code).toBe(1);
  });
});

describe('what doctor refuses', () => {
  test('an endpoint where nothing listens: exit code 3', async () => {
    const url = `http://127.0.0.1:${await refusingPort()}/hooks`;
    const stderr = expect.stringContaining('Nothing listens at http://127.0.0.1:');
    expect(await runCli(['doctor', url], setting)).toMatchObject({ code: 3, stderr });
  });

  test('another machine, unless a person agrees: exit code 2', async () => {
    const run = (more: Setting = {}, ...args: string[]) =>
      runCli(['doctor', 'http://doctor.invalid/hooks', ...args], { ...setting, ...more });
    const unasked = await run();
    expect(unasked).toEqual(failed(2, 'doctor.invalid is not this machine'));
    expect(unasked.stderr).toContain('order_id "doctor-test"');
    expect((await run({ tty: true, stdin: 'n\n' })).code).toBe(2);
    for (const agreed of [await run({}, '--yes'), await run({ tty: true, stdin: 'y\n' })]) {
      expect(agreed).toMatchObject({
        code: 3,
        stderr: expect.stringMatching(/Nothing listens.*or correct the URL\.$/m),
      });
    }
  });

  test('no answer at all, before a timeout that is longer than a timer of Node', async () => {
    const { stdout } = await doctor(
      mounted((_, response) => void response.writeHead(404).end()),
      '--timeout',
      '25d',
    );
    expect(stdout).toContain('There is no route at this path.');
  });

  test('no key: exit code 2', async () => {
    expect(await runCli(['doctor', 'http://localhost:1'])).toEqual(failed(2, 'SERVICE_PRIVATE_KEY'));
  });
});
