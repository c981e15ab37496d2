// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what shells and templates leave is what is tested
import { createHash } from 'node:crypto';
import { afterEach, describe, expect, test } from '@jest/globals';
import { ConfigurationError, cachedKeys, receiver, verifySignature } from 'payment-webhooks';
import { ServiceClient } from 'payment-webhooks/client';
import { startSimulator } from 'payment-webhooks/simulator';
import { signedDelivery } from 'payment-webhooks/testing';
import { constructEvent } from 'payment-webhooks/verify';
import { keyFault, sign } from '../src/signature.js';
import { captureLog } from './setup/captured-log.js';
import { hmac, KEY, receivable } from './setup/delivery.js';
import { fileWith } from './tools/cli/files.js';
import { runCli } from './tools/cli/run-cli.js';

const environment = { ...process.env };
afterEach(() => {
  process.env = { ...environment };
});

/** What a deploy, a template, a dashboard or an editor leaves where the key should be, and how it is named. */
const FORMS: readonly (readonly [named: string, texts: readonly string[]])[] = [
  [
    '${…}',
    ['${SERVICE_PRIVATE_KEY}', '${}', '${KEY:-none}', '${{ secrets.KEY }}', 'pri_${SECRET}', '"${KEY}"'],
  ],
  ['{{…}}', ['{{KEY}}', '{{ .Values.key }}', 'pri_{{ key }}', '{{ vault | key }}']],
  ['$(…)', ['$(SERVICE_PRIVATE_KEY)', '$(cat /run/secrets/key)']],
  ['#{…}', ['#{ServicePrivateKey}#', '#{key}']],
  ['{…}', ['{KEY}', '{your key}']],
  ['$NAME', ['$SERVICE_PRIVATE_KEY', '$KEY', '$privateKey', '$service_secret', '$env:SERVICE_PRIVATE_KEY']],
  ['%NAME%', ['%SERVICE_PRIVATE_KEY%', '%key%']],
  ['<…>', ['<your-private-key>', '<PRIVATE KEY>', 'pri_<key>', '<>', '<%= ENV["KEY"] %>']],
  ['__…__', ['__SERVICE_PRIVATE_KEY__', '@@KEY@@', 'pri___KEY__']],
  ['[…]', ['[YOUR KEY]', 'pri_[redacted]']],
  ['***', ['***', '********', 'pri_****', 'pri_****9d9b', 'pri_•••••9d9b']],
  ['…', ['pri_…', 'pri_...', '...', 'pri_5f2c…', 'pri_5f2c...']],
  ['xxx', ['xxx', 'XXXXXXXX', 'pri_xxxx', 'pri_live_xxxxxxxx', 'xxxx-xxxx-xxxx', 'pri_sandbox_XXXX']],
  [
    'your_…',
    ['your_private_key', 'your-key-here', 'YOUR KEY', 'yourkey', 'pri_your_key', 'pri_sandbox_your_key'],
  ],
  [
    'changeme',
    ['changeme', 'CHANGE_ME', 'change-this', 'replace_me', 'pri_replaceme', 'insert-key-here', 'Paste it'],
  ],
  ['…_here', ['key_goes_here', 'pri_secret-here', 'my key here']],
  ['private_key', ['private_key', 'PRIVATE KEY', 'privateKey', 'pri_private_key']],
  ['placeholder', ['placeholder', 'TODO', 'fixme', 'pri_placeholder', 'redacted']],
];

const MISSING = 'is the text of a missing value.';
const OTHERS: readonly (readonly [fault: string, texts: readonly string[]])[] = [
  [
    MISSING,
    [
      'undefined',
      'NULL',
      'None',
      'pri_undefined',
      '[object Promise]',
      'NaN',
      'Promise { <pending> }',
      '(null)',
      '"null"',
      'false',
    ],
  ],
  ['is the name of a variable.', ['SERVICE_PRIVATE_KEY', 'process.env.PAYMENT_KEY', 'WEBHOOK_SECRET']],
  [
    'is a reference to a secret',
    [
      'op://vault/payments/key',
      'arn:aws:secretsmanager:eu-central-1:1:secret:key',
      '@Microsoft.KeyVault(SecretUri=https://x.example)',
      'projects/shop/secrets/key',
      'encrypted:BE9Yx3Q',
      'ENC[AES256_GCM,data:Zm9v]',
      '$ANSIBLE_VAULT;1.1;AES256',
      'vault:secret/data/shop#key',
      'ref+awssecrets://shop/key',
      'file:///run/secrets/key',
      'https://shop.vault.azure.net/secrets/key',
      '!Ref Key',
    ],
  ],
  ['is the path of a file.', ['/run/secrets/service_private_key', '/etc/shop/key.txt']],
  ['is an empty value in quotes.', ['""', "''", '``']],
  ['is JSON.', ['{"privateKey":"pri_5f2c"}', '["pri_5f2c","pri_9b1d"]']],
  ['has nothing after its prefix', ['pri_', 'pri_sandbox_', 'pri_live_']],
  ['begins with a byte-order mark', ['\ufeffpri_5f2c']],
  [
    'has an invisible character',
    [
      'pri_\u200b5f2c',
      '\u200bpri_5f2c',
      'pri_5f2c\u200d',
      'pri_\u00ad5f2c',
      'pri_5f\u2060',
      'pri_\u202e5f',
      'pri_\ufeff5f',
    ],
  ],
  [
    'has an invisible character',
    ['pri_\u3164', 'pri_\u00a05f', 'pri_5f\u2028a', 'pri_\ufe0f5', 'pri_\u{e0041}', 'pri_\u0085a'],
  ],
  ['was read in the wrong encoding', ['pri_\ufffd5f2c']],
  ['is in quotes', ['“pri_5f2c”', '„pri_5f2c“', '‘pri_5f2c’', '«pri_5f2c»', 'pri_5f2c”']],
  ['is UTF-16 text', [...utf16('pri_5f2c9a'), ...utf16('pri_5f2c9a\r\n')]],
];

/** As a program that expects another encoding reads it. */
function utf16(text: string): string[] {
  const little = Buffer.from(text, 'utf16le');
  const big = Buffer.from(little).swap16();
  const marked = [
    Buffer.concat([Buffer.of(0xff, 0xfe), little]),
    Buffer.concat([Buffer.of(0xfe, 0xff), big]),
  ];
  return [little, big, ...marked].flatMap((bytes) => [bytes.toString('utf8'), bytes.toString('latin1')]);
}

const ALL = [
  ...FORMS.flatMap(([form, texts]) =>
    texts.map((text) => [text, `is a placeholder of the form ${form}: `] as const),
  ),
  ...OTHERS.flatMap(([fault, texts]) => texts.map((text) => [text, fault] as const)),
];

describe('a key that cannot be one', () => {
  test.each(ALL)('%j is refused as text and as bytes, naming the form and not the value', (key, fault) => {
    expect(keyFault(key)).toContain(fault);
    expect(keyFault(Buffer.from(key))).toContain(fault);
    expect(keyFault(key)).not.toMatch(/5f2c|SERVICE|cat \/run|9d9b/);
  });

  test('is refused as the bytes of a UTF-16 file', () => {
    for (const text of ['pri_5f2c9a', 'pri_5f2c9a\r\n']) {
      const little = Buffer.from(`\ufeff${text}`, 'utf16le');
      for (const bytes of [little, little.subarray(2), Buffer.from(little).swap16()])
        expect(keyFault(new Uint8Array(bytes))).toMatch(/^is UTF-16 text/);
    }
  });
});

describe('every door that reads a key refuses a placeholder', () => {
  const PLACEHOLDER = '${SERVICE_PRIVATE_KEY}';
  const forged = receivable(undefined, PLACEHOLDER);
  const body = forged.rawBody;
  const signature = hmac(body, PLACEHOLDER);
  const fault = /is a placeholder of the form \$\{…\}/;
  const env = () => {
    process.env.SERVICE_PRIVATE_KEY = PLACEHOLDER;
    return {};
  };

  test.each<[string, () => unknown]>([
    ['receiver()', () => receiver({ privateKey: PLACEHOLDER })],
    ['receiver() with several', () => receiver({ privateKey: [KEY, PLACEHOLDER] })],
    ['receiver() with the variable', () => receiver(env())],
    ['sign()', () => sign('{}', PLACEHOLDER)],
    ['verifySignature()', () => verifySignature(body, signature, [KEY, PLACEHOLDER])],
    ['constructEvent()', () => constructEvent({ rawBody: body, signature, privateKey: PLACEHOLDER })],
    ['signedDelivery()', () => signedDelivery({}, { privateKey: PLACEHOLDER })],
    ['ServiceClient', () => new ServiceClient({ baseUrl: 'https://x.example', privateKey: PLACEHOLDER })],
    ['ServiceClient with the variable', () => new ServiceClient({ baseUrl: 'https://x.example', ...env() })],
    ['the access token', () => new ServiceClient({ baseUrl: 'https://x.example', accessToken: PLACEHOLDER })],
  ])('%s', (_, use) => {
    expect(use).toThrow(ConfigurationError);
    expect(use).toThrow(fault);
    expect(use).not.toThrow(/SERVICE_PRIVATE_KEY\}/);
  });

  test('the access token that a function returns', async () => {
    const client = new ServiceClient({ baseUrl: 'https://x.example', accessToken: () => '<token>' });
    await expect(client.account.me()).rejects.toThrow('is a placeholder of the form <…>');
  });

  test.each(['privateKey', 'sandboxKey'])('%s of startSimulator()', async (option) => {
    await expect(startSimulator({ [option]: PLACEHOLDER })).rejects.toThrow(fault);
  });

  test.each([
    ['a key function', () => PLACEHOLDER],
    ['cachedKeys()', cachedKeys(async () => [KEY, PLACEHOLDER], { logger: false })],
  ])('%s, whose delivery is answered 503 and not 200', async (_, privateKey) => {
    const log = captureLog();
    const hooks = receiver({ privateKey, logger: log.logger, handlers: { '*': () => {} } });
    expect(await hooks.receive(forged)).toMatchObject({ status: 503 });
    expect(log.lines).toContainEqual(expect.objectContaining({ hint: expect.stringMatching(fault) }));
  });

  test.each([
    ['sign', '--body', '{}'],
    ['verify', '--body', '{}', '--signature', signature],
    ['doctor', 'http://127.0.0.1:1/hooks'],
    ['account', '--live'],
    ['webhooks', 'list', '--live'],
  ])('the command %s, from the variable and from a file', async (...words) => {
    const SERVICE_API_URL = 'https://x.example';
    const runs = [
      runCli(words, { env: { SERVICE_PRIVATE_KEY: PLACEHOLDER, SERVICE_API_URL } }),
      runCli([...words, '--key-file', fileWith(`${PLACEHOLDER}\n`)], { env: { SERVICE_API_URL } }),
    ];
    for (const run of await Promise.all(runs)) {
      expect(run).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(fault) });
    }
  });
});

describe('a key that may be one', () => {
  test.each([
    ...[
      'pri_example',
      'pri_test',
      'pri_x',
      'pri_sim_dev',
      'pri_sandbox_sim_dev',
      'pri_a b',
      'Jefe',
      'whsec_secret',
    ],
    ...[
      'pri_schlüssel_鍵',
      'pri_new',
      'pri_own',
      'pri_here',
      'pri_nullable',
      'pri_nonet',
      'pri_youreka',
      'pri_xx',
    ],
    ...['a$b{c}', 'pri_a<b>c', '$aB3kd9', '5%3a%2', 'pri_key', 'secret', 'pri_exchange_me', 'pri_a.b.c'],
  ])('%s is accepted', (key) => {
    expect(keyFault(key)).toBeUndefined();
  });

  const alphabets = {
    hex: '0123456789abcdef',
    upper: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
    alphanumeric: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
    base64: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
    base64url: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_',
    printable: Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).join(''),
  };

  // The same keys in every run: among enough random keys there is one of any form.
  test.each(Object.entries(alphabets))('no random key is refused: %s', (name, alphabet) => {
    for (let index = 0; index < 20_000; index += 1) {
      const bytes = createHash('sha512').update(`${name} ${index}`).digest().subarray(0, 24);
      const random = Array.from(bytes, (byte) => alphabet[byte % alphabet.length]).join('');
      // A colon at the end has its own fault.
      for (const key of [random, `pri_${random}`, `pri_sandbox_${random}`].map((text) => `${text}0`))
        if (keyFault(key) !== undefined) throw new Error(`${key}: ${keyFault(key)}`);
    }
  });
});
