// `capture` with senders that share no code with the package: curl with openssl, Python with hmac; through nginx with TLS as the tunnel.
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { signatureFinder } from '../../../src/tools/cli/find-signature.js';
import { dropOldest } from '../../../src/tools/simulator/capture.js';
import {
  type HeaderPair,
  newDelivery,
  type SimulatedAttempt,
} from '../../../src/tools/simulator/delivery/simulated-delivery.js';
import { SimulatorStore } from '../../../src/tools/simulator/simulator-store.js';
import { needing } from '../../setup/platform.js';
import { freePort } from '../../setup/ports.js';
import { until } from '../../setup/waiting.js';
import { afterwards, call, endpoint, opensslHmac, selfSigned, temporaryFolder } from '../simulator/world.js';
import { capturing, eventBody, KEY, strange } from './capturing.js';
import { fileWith } from './files.js';

const run = promisify(execFile);
const OTHER_KEY = 'pri_sandbox_77aa21b4d9';
const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');

/** nginx with TLS in front of the port. @returns the port it listens on, and its certificate */
async function nginxBefore(port: number, headers = 'proxy_set_header Host $http_host;') {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'tmp'));
  const { key, cert } = selfSigned();
  writeFileSync(join(folder, 'key.pem'), key);
  writeFileSync(join(folder, 'cert.pem'), cert);
  const own = await freePort();
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const config = `
    daemon off; master_process off; pid nginx.pid; error_log stderr;
    events {}
    http {
      access_log off; client_max_body_size 2m;
      ${temporary.map((kind) => `${kind}_temp_path tmp/${kind};`).join(' ')}
      server {
        listen 127.0.0.1:${own} ssl; ssl_certificate cert.pem; ssl_certificate_key key.pem;
        location / { ${headers} proxy_pass http://127.0.0.1:${port}; }
      }
    }`;
  writeFileSync(join(folder, 'nginx.conf'), config);
  const nginx = spawn('nginx', ['-p', folder, '-c', 'nginx.conf'], { stdio: 'ignore' });
  const ended = new Promise((resolve) => nginx.once('exit', resolve));
  afterwards(async () => {
    nginx.kill();
    await ended;
  });
  /** Not spawnSync(): nginx passes the request on to this process. */
  const curl = async (path: string, ...more: string[]) => {
    const words = ['-sS', '--cacert', join(folder, 'cert.pem'), ...more, `https://127.0.0.1:${own}${path}`];
    return (await run('curl', words, { timeout: 20_000 })).stdout;
  };
  await until(() => curl('/').then(Boolean, () => false));
  return curl;
}

/** What curl sends, with the digits of the openssl program in the header. */
const FORMS: readonly (readonly [form: string, value: (digits: string) => string, key?: string])[] = [
  ['64 digits', (digits) => digits],
  ['a prefix', (digits) => `sha256=${digits}`],
  ['upper case', (digits) => digits.toUpperCase()],
  ['base64', (digits) => Buffer.from(digits, 'hex').toString('base64')],
  ['another key of the file', (digits) => digits, OTHER_KEY],
];

needing('curl', 'openssl', 'nginx').describe('curl, openssl, and nginx with TLS as the tunnel', () => {
  test.each(FORMS)('deliver the bytes; the header is found with %s', async (_form, write, key = KEY) => {
    const app = await endpoint(200);
    const keyFile = fileWith(`${KEY}\n${OTHER_KEY}\n`);
    const { port, printed } = await capturing(['--json', '--forward', app.url, '--key-file', keyFile]);
    const curl = await nginxBefore(port);
    const body = `${eventBody({ note: 'ünïcode €' })}\n`;
    const file = fileWith(body);
    const header = `X-Acme-Digest: ${write(opensslHmac(body, key))}`;
    expect(await curl('/hooks', '--data-binary', `@${file}`, '-H', header, '-w', '%{http_code}')).toBe('200');
    expect(app.received.map(({ body: bytes }) => sha256(bytes))).toEqual([sha256(body)]);
    await until(() => printed.stdout.includes('"attempt"'));
    const [, line = ''] = printed.stdout.split('\n');
    expect(JSON.parse(line).signature).toMatchObject({ header: 'X-Acme-Digest', key: key === KEY ? 0 : 1 });
  });

  test.each([
    ['with the Host of the sender', 'proxy_set_header Host $http_host;'],
    ['with a Host of its own, as by default', ''],
  ])('let nothing but the capture path through, %s', async (_case, headers) => {
    const { port } = await capturing();
    const curl = await nginxBefore(port, headers);
    const isOpen = (path: string, ...more: string[]) =>
      curl(path, '-o', '/dev/null', '-w', '%{http_code}', '-H', 'Host: quick-fox.example', ...more);
    const paths = ['/', '/_sim/deliveries', '/_sim/stream', '/api/v2/webhooks', '/hooks'];
    expect(await Promise.all(paths.map((path) => isOpen(path)))).toEqual(paths.map(() => '403'));
    expect(await isOpen('/hooks', '--data-binary', '{}')).toBe('200');
  });
});

const SENDER = `
import hashlib, hmac, json, sys, urllib.request
url, key = sys.argv[1:3]
event = {"id": "evt_py", "event_name": "transaction.paid", "sandbox": True, "payload": {"note": "d\\u00e9j\\u00e0 vu"}}
body = json.dumps(event, ensure_ascii=False, indent=1).encode()
digits = hmac.new(key.encode(), body, hashlib.sha256).hexdigest()
request = urllib.request.Request(url, data=body, headers={"X-Py-Signature": digits, "Content-Type": "application/json"})
with urllib.request.urlopen(request) as answer:
    print(answer.status, hashlib.sha256(body).hexdigest())
`;

needing('python3').test('a Python script with hmac is captured, and passed on byte for byte', async () => {
  const app = await endpoint(200);
  const { baseUrl, printed } = await capturing(['--forward', app.url]);
  const { stdout } = await run('python3', ['-c', SENDER, `${baseUrl}/hooks`, KEY]);
  await until(() => printed.stdout.includes("Set signatureHeader: 'X-Py-Signature'."));
  expect(stdout.trim()).toBe(`200 ${sha256(app.received[0]?.body ?? '')}`);
});

describe('the finder', () => {
  const body = Buffer.from(eventBody());
  const digits = opensslHmac(body, KEY);
  const find = signatureFinder([OTHER_KEY, KEY]);

  test.each([
    [digits, null],
    [`SHA256=${digits}`, 'digits after the prefix "SHA256="'],
    [`t=1,v1=${digits}`, 'digits after the prefix "t=1,v1="'],
    [`"${digits}"`, 'digits after the prefix "\\""'],
    [digits.toUpperCase(), 'digits in upper case'],
    [Buffer.from(digits, 'hex').toString('base64url'), 'digest in base64'],
    [`v1,${Buffer.from(digits, 'hex').toString('base64')}`, 'digest in base64 after the prefix "v1,"'],
    [digits.slice(0, 32) + digits.slice(32).toUpperCase(), 'digits in mixed case'],
  ])('finds %s', (value, form) => {
    const finding = find(
      [
        ['Accept', '*/*'],
        ['X-Any', value],
      ],
      body,
    );
    // Without + and /, base64url is base64.
    expect({ ...finding, form: finding.form?.replace('base64url', 'base64') ?? null }).toMatchObject({
      ...{ header: 'X-Any', key: 1, form },
    });
    expect(finding.message).toContain('It was made with key 2 of 2.');
  });

  const whyNot = (value: string, bytes: Buffer | string = body) =>
    find([['X-Any-Signature', value]], Buffer.from(bytes)).message;

  test('says what `verify` would say when nothing matches, and never what would be right', () => {
    expect(find([['Accept', '*/*']], body).message).toBe(
      'No header looks like a signature. Check whether the tunnel drops headers.',
    );
    const start = 'X-Any-Signature does not hold the signature of these bytes.';
    expect(whyNot(digits, `${body}\n`)).toContain(
      `${start} The signature matches the body without its trailing newline.`,
    );
    expect(whyNot(digits, JSON.stringify(JSON.parse(String(body)), null, 2))).toContain(
      'The JSON was reserialized',
    );
    expect(whyNot(`sha256=${'0'.repeat(64)}`)).toContain(
      'Wrong key: these bytes were not signed with any of these keys',
    );
    expect(whyNot(digits.slice(0, 40))).toContain('truncated: 40 of 64 digits');
    expect(whyNot('0'.repeat(64), Buffer.alloc(200_000, 32))).toContain(
      'Save the body, and run payment-webhooks verify.',
    );
    for (const value of ['', 'x', '0'.repeat(64)]) expect(whyNot(value)).not.toContain(digits);
  });
});

test('500 posts of 1 MB leave at most 64 MB of bodies, and the latest deliveries', async () => {
  const { port, baseUrl } = await capturing();
  const before = process.memoryUsage().arrayBuffers;
  const filler = 'x'.repeat(999_000);
  let most = 0;
  let sent = 0;
  const sender = async () => {
    while (sent < 500) {
      sent += 1;
      // Every fourth is the same event again, in other bytes.
      const id = sent % 4 === 0 ? 'evt_same' : `evt_big_${sent}`;
      const { status } = await strange(port, { body: eventBody({ id, note: `${sent}${filler}` }) });
      expect(status).toBe(200);
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }
  };
  await Promise.all(Array.from({ length: 8 }, sender));
  const { total } = (await call(`${baseUrl}/_sim/deliveries?view=rows&limit=1`)).json;
  expect(total).toBeGreaterThan(0);
  expect(total).toBeLessThanOrEqual(64);
  // The bodies that are kept, and what is not collected yet.
  expect(most).toBeLessThan(400_000_000);
});

describe('the memory of what strangers send', () => {
  const attempt = (number: number, body: Buffer, headers: HeaderPair[] = []): SimulatedAttempt => ({
    ...{ number, body, headers, trigger: 'automatic', startedAt: 0, durationMs: 0, succeeded: true },
    ...{ fault: null, diagnosis: null, url: 'http://localhost/hooks', response: null, error: null },
    nextAttemptAt: null,
  });
  const storeOf = (deliveries: number, attemptsOf: (index: number) => SimulatedAttempt[]) => {
    const store = new SimulatorStore();
    for (let index = 0; index < deliveries; index += 1) {
      const event = { id: `evt_${index}`, name: 'a.b', sandbox: false, body: Buffer.from('{}') };
      const fields = { id: `d${index}`, event, webhookId: '', url: 'http://localhost/', createdAt: 0 };
      const delivery = newDelivery({ ...fields, plannedFault: undefined });
      store.saveDelivery({ ...delivery, status: 'delivered', attempts: attemptsOf(index) });
    }
    dropOldest(store);
    return store.allDeliveries();
  };

  test('has the latest attempts of one event that came in 100 bodies of 1 MB', () => {
    const numbers = Array.from({ length: 100 }, (_, index) => index + 1);
    const [delivery] = storeOf(1, () => numbers.map((number) => attempt(number, Buffer.alloc(1_000_000))));
    expect(delivery?.attempts.map(({ number }) => number)).toEqual(numbers.slice(-63));
  });

  test('has the latest deliveries, each whole or without its older attempts', () => {
    const pair = () => [1, 2].map((number) => attempt(number, Buffer.alloc(1_000_000)));
    const kept = storeOf(100, pair);
    expect(kept.map(({ id, attempts }) => `${id}: ${attempts.length}`)).toEqual([
      'd68: 1',
      ...Array.from({ length: 31 }, (_, index) => `d${69 + index}: 2`),
    ]);
  });

  test('counts headers, which take more than their bytes', () => {
    const headers = Array.from({ length: 1_500 }, (_, index): HeaderPair => [`a${index}`, '1']);
    const kept = storeOf(500, () => [attempt(1, Buffer.from('{}'), headers)]);
    expect(kept.length).toBeGreaterThan(300);
    expect(kept.length).toBeLessThan(450);
    expect(kept.at(-1)?.id).toBe('d499');
  });
});
