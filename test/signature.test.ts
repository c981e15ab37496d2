import { spawnSync } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ConfigurationError } from '../src/errors.js';
import {
  asBytes,
  isSignature,
  keyFault,
  type PrivateKey,
  sign,
  signingKey,
  signingKeys,
  verify,
  verifySignature,
} from '../src/signature.js';
import { needing } from './setup/platform.js';

const text = (content: string) => Buffer.from(content, 'ascii');

/** RFC 4231, section 4: the values for HMAC-SHA-256. */
const RFC_4231 = [
  {
    number: 1,
    key: Buffer.alloc(20, 0x0b),
    data: text('Hi There'),
    digest: 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7',
  },
  {
    number: 2,
    key: text('Jefe'),
    data: text('what do ya want for nothing?'),
    digest: '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  },
  {
    number: 3,
    key: Buffer.alloc(20, 0xaa),
    data: Buffer.alloc(50, 0xdd),
    digest: '773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe',
  },
  {
    number: 4,
    key: Buffer.from(Array.from({ length: 25 }, (_, index) => index + 1)),
    data: Buffer.alloc(50, 0xcd),
    digest: '82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b',
  },
  {
    number: 6,
    key: Buffer.alloc(131, 0xaa),
    data: text('Test Using Larger Than Block-Size Key - Hash Key First'),
    digest: '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
  },
  {
    number: 7,
    key: Buffer.alloc(131, 0xaa),
    data: text(
      'This is a test using a larger than block-size key and a larger than block-size data. ' +
        'The key needs to be hashed before being used by the HMAC algorithm.',
    ),
    digest: '9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2',
  },
];

describe('the vectors of RFC 4231', () => {
  test.each(RFC_4231)('case $number is signed and verified as published', ({ key, data, digest }) => {
    expect(sign(data, key)).toBe(digest);
    expect(verifySignature(data, digest, key)).toBe(true);
    expect(verifySignature(data, digest, new Uint8Array(key))).toBe(true);
  });

  test('case 2, whose key and data are text, gives the same as text', () => {
    const digest = RFC_4231[1]?.digest;
    expect(sign('what do ya want for nothing?', 'Jefe')).toBe(digest);
    expect(verifySignature('what do ya want for nothing?', digest, 'Jefe')).toBe(true);
  });

  test('case 5, a digest cut to 128 bits, begins as published and is refused', () => {
    const [key, data] = [Buffer.alloc(20, 0x0c), text('Test With Truncation')];
    const truncated = 'a3b6167473100ee06e0c796c2955552b';
    expect(sign(data, key).slice(0, 32)).toBe(truncated);
    expect(verifySignature(data, truncated, key)).toBe(false);
  });
});

needing('openssl').describe('signatures and the openssl program', () => {
  function openssl(body: Uint8Array, keyOptions: string[]): string {
    const { status, stdout, stderr } = spawnSync('openssl', ['dgst', '-sha256', '-r', ...keyOptions], {
      input: body,
    });
    if (status !== 0) throw new Error(`openssl failed: ${stderr}`);
    return stdout.toString().slice(0, 64);
  }

  test.each<[string, Buffer]>([
    ['an empty body', Buffer.alloc(0)],
    ['one zero byte', Buffer.alloc(1)],
    ['every byte there is', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))],
    ['line breaks of both kinds', Buffer.from('{\r\n"a":1\n}\r\n')],
    ['a byte-order mark and text outside ASCII', Buffer.from('\ufeff{"name":"Zoë 漢字 😀"}')],
    ['256 KB of random bytes', randomBytes(262_144)],
    ...Array.from({ length: 8 }, (_, index): [string, Buffer] => [
      `random bytes, number ${index + 1}`,
      randomBytes(1 + Math.floor(Math.random() * 4_096)),
    ]),
  ])('agree on %s, with a key of text', (_, body) => {
    const key = `pri_${randomBytes(16).toString('hex')}`;
    const signature = openssl(body, ['-hmac', key]);
    expect(sign(body, key)).toBe(signature);
    expect(verifySignature(body, signature, key)).toBe(true);
  });

  test.each([[1], [63], [64], [65], [131]])('agree on a random key of %i bytes', (length) => {
    // Not blank: such a key is refused.
    const [key, body] = [Buffer.concat([Buffer.from([0xff]), randomBytes(length - 1)]), randomBytes(500)];
    const signature = openssl(body, ['-mac', 'HMAC', '-macopt', `hexkey:${key.toString('hex')}`]);
    expect(sign(body, key)).toBe(signature);
    expect(verifySignature(body, signature, key)).toBe(true);
  });

  test('agree on a key outside ASCII, which is taken as UTF-8', () => {
    const key = 'pri_schlüssel_鍵';
    expect(sign('{}', key)).toBe(openssl(text('{}'), ['-hmac', key]));
  });
});

describe('isSignature', () => {
  const valid = sign('{}', 'pri_test');

  test.each<[string, unknown]>([
    ['rubbish behind it', `${valid}zz`],
    ['upper case', valid.toUpperCase()],
    ['one digit in upper case', `${valid.slice(0, -1)}A`],
    ['a trailing newline', `${valid}\n`],
    ['a leading newline', `\n${valid}`],
    ['a letter that is no digit', `g${valid.slice(1)}`],
    ['a space inside', `${valid.slice(0, 32)} ${valid.slice(33)}`],
    ['a tab inside', `${valid.slice(0, 32)}\t${valid.slice(33)}`],
    ['32 digits', valid.slice(32)],
    ['63 digits', valid.slice(1)],
    ['65 digits', `${valid}0`],
    ['128 digits', valid + valid],
    ['two lines of a signature each', `${valid}\n${valid}`],
    ['a prefix', `sha256=${valid}`],
    ['quotes around it', `"${valid}"`],
    ['base64', Buffer.from(valid, 'hex').toString('base64')],
    ['digits outside ASCII', '\uff11'.repeat(64)],
    ['15 kB of a', 'a'.repeat(15_000)],
    ['no text at all', ''],
    ['a list of one', [valid]],
    ['an object that reads as one', { toString: () => valid }],
    ['a String object', new String(valid)],
    ['a number', 7],
    ['undefined', undefined],
    ['null', null],
  ])('is not %s', (_, signature) => {
    expect(isSignature(signature)).toBe(false);
    expect(verifySignature('{}', signature, 'pri_test')).toBe(false);
  });

  test('is exactly 64 lower-case hexadecimal digits', () => {
    expect([valid, '0'.repeat(64), 'f'.repeat(64)].every(isSignature)).toBe(true);
  });
});

describe('keyFault', () => {
  const EMPTY = /^is empty: anyone could sign with it\. Copy the private key from the dashboard\.$/;
  const ENDS_WITH_BREAK = /^ends with a line break\. Trim it: readFileSync\(path, 'utf8'\)\.trim\(\)$/;

  test.each<[string, unknown, RegExp]>([
    ['empty text', '', EMPTY],
    ['spaces', '   ', /^is blank/],
    ['a line break only', '\n', /^is blank/],
    ['a line break at the end', 'pri_secret\n', ENDS_WITH_BREAK],
    ['a carriage return inside', 'pri_\rsecret', /^has a line break/],
    ['a NUL inside', 'pri_\0secret', /^has a line break/],
    ['a DEL inside', 'pri_\x7fsecret', /^has a line break/],
    ['a space before', ' pri_secret', /^begins or ends with white space\. Trim it\.$/],
    ['a no-break space behind', 'pri_secret\u00a0', /^begins or ends with white space\. Trim it\.$/],
    ['the text undefined', 'undefined', /^is the text of a missing value/],
    ['the text null', 'null', /^is the text of a missing value/],
    ['the text of an object', '[object Object]', /^is the text of a missing value/],
    ['no bytes', new Uint8Array(), EMPTY],
    // HMAC pads a key with zeros, so these are the empty key.
    ['one zero byte', new Uint8Array(1), /^has only zero bytes: anyone could sign with it\./],
    ['bytes that were wiped', Buffer.alloc(32), /^has only zero bytes/],
    ['bytes of spaces', Buffer.from('  '), /^is blank/],
    ['the bytes of a line break', Buffer.from('\n'), /^is blank/],
    ['the bytes of a key file with its line break', Buffer.from('pri_secret\n'), /^ends with a line break/],
    ['the bytes of a key file of Windows', Buffer.from('pri_secret\r\n'), /^ends with a line break/],
    ['the bytes of a key with a NUL inside', Buffer.from('pri_\0secret'), /^has a line break/],
    ['the bytes of another key with a line break', Buffer.from('whsec_secret\n'), /^ends with a line break/],
    [
      'the bytes of a key behind a byte-order mark',
      Buffer.from('\ufeffpri_secret'),
      /^begins with a byte-order mark/,
    ],
    ['the bytes of the text undefined', Buffer.from('undefined'), /^is the text of a missing value/],
    ['a view of a larger buffer', Buffer.from('xpri_secret\nx').subarray(1, 12), /^ends with a line break/],
    ['undefined', undefined, /^is of type undefined, not text\./],
    ['null', null, /^is null, not text\./],
    ['a colon behind it', 'pri_secret:', /^ends with a colon\. Remove it: /],
    ['double quotes around it', '"pri_secret"', /^is in quotes\. Remove them/],
    ['single quotes around it', "'pri_secret'", /^is in quotes\. Remove them/],
    ...[
      'pri_secret;pri_b',
      'pri_secret,pri_b',
      'pri_secret, pri_b',
      'pri_a pri_secret',
      'pri_a|pri_secret',
    ].map((keys): [string, unknown, RegExp] => [
      `several: ${keys}`,
      keys,
      /^holds several keys\. Pass an array; /,
    ]),
    ['the bytes of several', Buffer.from('pri_secret;pri_b'), /^holds several keys\. Pass an array; /],
    ...['\\n', '\\r\\n', '%0A'].map((end): [string, unknown, RegExp] => [
      `a line break spelled ${end}`,
      `pri_secret${end}`,
      /^has an escaped line break in it/,
    ]),
    ['several with an escaped line break', 'pri_secret\\npri_b', /^has an escaped line break in it/],
    ...[
      'Bearer pri_secret',
      'Basic cHJpX3NlY3JldDo=',
      'basic secret',
      'Authorization: Basic cHJpX3NlY3JldDo=',
    ].map((value): [string, unknown, RegExp] => [
      value,
      value,
      /^is the value of an Authorization header\. /,
    ]),
    ...[
      'SERVICE_PRIVATE_KEY=pri_secret',
      'export KEY="pri_secret"',
      'key: pri_secret',
      'user:pri_secret',
    ].map((line): [string, unknown, RegExp] => [
      line,
      line,
      /^has other text in front of the key\. Remove it\.$/,
    ]),
    ...['cHJpX3NlY3JldA==', 'cHJpX3NlY3JldDo=', 'cHJpX3NlY3JldAo'].map((text): [string, unknown, RegExp] => [
      `base64: ${text}`,
      text,
      /^is in base64, as in the data of a Kubernetes Secret or in Basic authentication\. Pass it decoded\.$/,
    ]),
    ['a number', 7, /^is of type number, not text\./],
    ['an object', { secret: 'pri_secret' }, /^is of type object, not text\./],
  ])('finds fault with %s, without quoting it', (_, key, message) => {
    expect(keyFault(key)).toMatch(message);
    expect(keyFault(key)).not.toContain('secret');
    const bad = key as PrivateKey;
    for (const use of [() => signingKey(bad), () => sign('{}', bad), () => verifySignature('{}', '', bad)]) {
      expect(use).toThrow(ConfigurationError);
      expect(use).toThrow(/^privateKey (?!.*secret).+\. (?:Copy|Trim|Remove|Check|Save|Pass|Write) ./);
    }
  });

  test.each<[string, PrivateKey]>([
    ['a live key', 'pri_0123456789abcdef'],
    ['a key with a space inside', 'pri_a b'],
    ['a key that ends in quotes', 'a"pri_b"'],
    ['a key with a comma', 'pri_one,two'],
    ['a key with a semicolon and an equals sign', 'pri_one;two=pri3'],
    ['a key of base64 text', 'c2VjcmV0K3ByaV8/PQ=='],
    ['a key with the prefix again', 'pri_one-pri_two_pri_'],
    ['a key that begins in quotes', '"pri_a"b'],
    ['quotes of two kinds around it', '"pri_a\''],
    ['a key outside ASCII', 'pri_schlüssel'],
    ['zero bytes behind another byte', Uint8Array.of(1, 0, 0)],
    ['bytes that are not UTF-8', Buffer.alloc(20, 0xaa)],
    ['bytes that are UTF-8 but no text', Buffer.alloc(20, 0x0b)],
    ['the bytes of a live key', Buffer.from('pri_0123456789abcdef')],
  ])('finds none with %s', (_, key) => {
    expect(keyFault(key)).toBeUndefined();
  });
});

describe('signingKey', () => {
  test('knows a sandbox key by its prefix, as text and as bytes', () => {
    expect(signingKey('pri_sandbox_1').sandbox).toBe(true);
    expect(signingKey('pri_1').sandbox).toBe(false);
    expect(signingKey('xpri_sandbox_1').sandbox).toBe(false);
    expect(signingKey(Buffer.from('pri_sandbox_1')).sandbox).toBe(true);
    expect(signingKey(new Uint8Array(Buffer.from('pri_sandbox_1'))).sandbox).toBe(true);
    expect(signingKey(Buffer.from('pri_1')).sandbox).toBe(false);
  });

  test('shows the key in no inspection and no JSON', () => {
    const key = signingKey('pri_canary');
    const canary = /canary|7072695f63616e617279|112, ?114, ?105/;
    expect(inspect(key, { depth: 9, showHidden: true })).not.toMatch(canary);
    expect(JSON.stringify(key)).not.toMatch(canary);
  });

  test('keeps its key when the bytes it was made from are wiped', () => {
    const bytes = Buffer.from('pri_test');
    const keys = [signingKey(bytes)];
    bytes.fill(0);
    expect(verify(text('{}'), sign('{}', 'pri_test'), keys)).toBe(0);
  });

  test('names the option that the key came from', () => {
    expect(() => signingKey('', 'keys.live')).toThrow('keys.live is empty');
  });
});

describe('several keys', () => {
  const keys = ['pri_new', 'pri_old', Buffer.from('pri_bytes')];

  test.each(keys.map((key, index) => [index, key] as const))('the one at %i verifies', (index, key) => {
    const signature = sign('{"a":1}', key);
    expect(verifySignature('{"a":1}', signature, keys)).toBe(true);
    expect(verify(text('{"a":1}'), signature, signingKeys(keys))).toBe(index);
  });

  test('none of them verifies what another key signed', () => {
    const signature = sign('{}', 'pri_foreign');
    expect(verifySignature('{}', signature, keys)).toBe(false);
    expect(verify(text('{}'), signature, signingKeys(keys))).toBe(-1);
  });

  test('the first of two equal ones is the one that verified', () => {
    expect(verify(text('{}'), sign('{}', 'pri_a'), signingKeys(['pri_b', 'pri_a', 'pri_a']))).toBe(1);
  });

  test('an unusable one is named by its place, though another would verify', () => {
    const check = () => verifySignature('{}', sign('{}', 'pri_a'), ['pri_a', ' ']);
    expect(check).toThrow(/^privateKey\[1\] is blank/);
  });

  test('an empty list is refused: it would refuse every delivery', () => {
    const check = () => verifySignature('{}', '', []);
    expect(check).toThrow('privateKey is an empty array. Pass at least one key.');
  });

  test('a list of one speaks of the option itself', () => {
    expect(() => signingKeys([''])).toThrow(/^privateKey is empty/);
  });
});

describe('the body', () => {
  test('as text means its UTF-8 bytes', () => {
    const body = '{"name":"Zoë 😀"}';
    const signature = createHmac('sha256', 'pri_test').update(Buffer.from(body, 'utf8')).digest('hex');
    expect(sign(body, 'pri_test')).toBe(signature);
    expect(verifySignature(body, signature, 'pri_test')).toBe(true);
    expect(verifySignature(Buffer.from(body, 'latin1'), signature, 'pri_test')).toBe(false);
  });

  test('may be part of a larger buffer', () => {
    const part = new Uint8Array(Buffer.from('xx{}xx')).subarray(2, 4);
    expect(verifySignature(part, sign('{}', 'pri_test'), 'pri_test')).toBe(true);
  });

  test('that is a Buffer already is taken as it is, without a copy', () => {
    const body = Buffer.from('{}');
    expect(asBytes(body)).toBe(body);
  });

  test.each<[string, unknown, string]>([
    ['a parsed object', { a: 1 }, 'of type object'],
    ['null', null, 'null'],
    ['nothing', undefined, 'of type undefined'],
    ['a list of bytes', [123, 125], 'of type object'],
  ])('that is %s is refused, for its bytes are lost', (_, body, got) => {
    const bad = body as string;
    const message =
      `rawBody is ${got}. Pass the bytes exactly as they were received, not the parsed body. ` +
      'Its signature cannot be checked after JSON.parse.';
    for (const use of [
      () => asBytes(bad),
      () => sign(bad, 'pri_test'),
      () => verifySignature(bad, '', 'pri_test'),
    ]) {
      expect(use).toThrow(ConfigurationError);
      expect(use).toThrow(new ConfigurationError(message));
    }
  });
});

describe('any damage is refused', () => {
  const bodies = fc.uint8Array({ minLength: 1, maxLength: 300 });
  // Bytes that spell text are held to what a key of text is held to.
  const isKey = (bytes: Uint8Array) => keyFault(bytes) === undefined;
  const keys = fc.uint8Array({ minLength: 1, maxLength: 150 }).filter(isKey);
  const flipped = (bytes: Uint8Array, bit: number) => {
    const copy = Uint8Array.from(bytes);
    const index = Math.floor(bit / 8) % bytes.length;
    copy[index] = (copy[index] ?? 0) ^ (1 << (bit % 8));
    return copy;
  };

  test('a good signature verifies, and with one bit flipped in body, signature or key it does not', () => {
    fc.assert(
      fc.property(bodies, keys, fc.nat(), (body, key, bit) => {
        fc.pre(isKey(flipped(key, bit)));
        const signature = sign(body, key);
        const digest = Buffer.from(signature, 'hex');
        expect(verifySignature(body, signature, key)).toBe(true);
        expect(verifySignature(flipped(body, bit), signature, key)).toBe(false);
        expect(verifySignature(body, Buffer.from(flipped(digest, bit)).toString('hex'), key)).toBe(false);
        expect(verifySignature(body, signature, flipped(key, bit))).toBe(false);
      }),
    );
  });

  test('every single bit of one body and of its signature counts', () => {
    const body = text('{"event_name":"transaction.paid"}');
    const signature = sign(body, 'pri_test');
    for (let bit = 0; bit < body.length * 8; bit += 1) {
      expect(verifySignature(flipped(body, bit), signature, 'pri_test')).toBe(false);
    }
    for (let bit = 0; bit < 256; bit += 1) {
      const other = Buffer.from(flipped(Buffer.from(signature, 'hex'), bit)).toString('hex');
      expect(verifySignature(body, other, 'pri_test')).toBe(false);
    }
  });

  test('no random text is a signature', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.stringMatching(/^[0-9a-f]{64}$/)), (signature) => {
        expect(verifySignature('{}', signature, 'pri_test')).toBe(false);
      }),
    );
  });
});
