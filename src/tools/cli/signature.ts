// `sign` and `verify`: prints the signature of a body, or checks one and explains why it does not match.
import { createHmac } from 'node:crypto';
import { gunzipSync, inflateSync } from 'node:zlib';
import { type BodyEncoding, encodingOf } from '../../http/encoded-body.js';
import { isSignature, sign as signBody } from '../../signature.js';
import { command, EXIT, jsonOption, keyFileOption, text } from './command.js';
import { fromUtf16, isUtf16, UTF_16_CURE, withoutHidden } from './encoding.js';
import { painter, unicodeEscape } from './print.js';
import { bodyOption, readBody, readBytes, readKey, readKeys } from './read-input.js';

export const sign = command({
  about:
    'Prints the lower-case hexadecimal HMAC-SHA256 of the body, keyed with the private key: the value of X-SERVICE-SIGNATURE. Every byte counts, including a line break at the end of a file.',
  options: { body: bodyOption, 'key-file': keyFileOption, json: jsonOption },
  examples: {
    'printf %s \'{"a":1}\' | payment-webhooks sign':
      'the same digits as openssl dgst -sha256 -hmac "$SERVICE_PRIVATE_KEY"',
    'payment-webhooks sign --body @event.json --key-file key.txt': 'a body and a key from files',
  },
  async run({ values, terminal }) {
    const key = await readKey(values['key-file'], terminal);
    const body = await readBody('--body', values.body, terminal);
    const digits = signBody(body, key);
    return { values: [{ signature: digits }], text: digits, notes: hasBom(body) ? [BOM_SIGNED] : [] };
  },
});

const BOM_SIGNED =
  'The body begins with a byte-order mark (BOM), which is signed too. If an editor put it there, save the file without one.';

export const verify = command({
  about:
    'Checks the signature over the bytes of the body. If they do not match, it says why: wrong key, reserialized JSON, a byte-order mark, UTF-16, gzip, base64, invisible characters, a trailing newline, upper case, or truncated (a signature of fewer than 64 digits, or a body that ends in the middle of its JSON). A key file may hold several keys, one per line.',
  options: {
    signature: text({ HEX: '"$SIGNATURE"' }, 'The value of X-SERVICE-SIGNATURE as received.'),
    body: bodyOption,
    'key-file': keyFileOption,
    json: jsonOption,
  },
  examples: {
    'payment-webhooks verify --signature "$SIGNATURE" --body @captured.json': 'a saved delivery',
    'payment-webhooks verify --signature "$SIGNATURE" --key-file keys.txt < captured.json':
      'with any of several keys',
  },
  async run({ values, terminal }) {
    const { signature = '' } = values;
    const keys = await readKeys(values['key-file'], terminal);
    const body = await readBytes('--body', values.body, terminal);
    const paint = painter(terminal.stdout, terminal.env);
    const keyIndex = keys.findIndex((key) => signBody(body, key) === signature);
    if (keyIndex !== -1) {
      const which = keys.length > 1 ? ` It was made with key ${keyIndex + 1} of ${keys.length}.` : '';
      const text = `${paint('green', 'Valid:')} the signature belongs to this body.${which}`;
      return { values: [{ valid: true, keyIndex }], text };
    }
    const finding = explainMismatch(signature, body, keys);
    const text = `${paint('red', 'Not valid:')} ${finding.message}\n${finding.cure}`;
    return { values: [{ valid: false, ...finding }], text, exitCode: EXIT.failed };
  },
});

export function explainMismatch(signature: string, body: Buffer, keys: readonly string[]): Finding {
  const signatures = (bytes: Uint8Array) => keys.map((key) => signBody(bytes, key));
  const digits = signature.trim().toLowerCase();
  return (
    explainForm(signature, signatures(body)) ??
    explainBody(body, (bytes) => signatures(bytes).includes(digits)) ??
    explainKey(body, digits, keys)
  );
}

interface Finding {
  readonly difference: string;
  readonly message: string;
  readonly cure: string;
}

/** The signature does not look like one of the service. @param right the signature of the body by each key */
function explainForm(signature: string, right: readonly string[]): Finding | undefined {
  const text = signature.trim();
  if (text === '') {
    return {
      difference: 'signature_missing',
      message: 'There is no signature.',
      cure: 'Pass the value of X-SERVICE-SIGNATURE with --signature. If it never arrived, check whether a proxy drops the header.',
    };
  }
  if (/^[0-9a-f]{1,63}$/i.test(text)) {
    const whole = right.some((digits) => digits.startsWith(text.toLowerCase()));
    return {
      difference: 'truncated',
      message: `The signature is truncated: ${text.length} of 64 digits${whole ? ', and those are right' : ''}.`,
      cure: 'Copy the whole value. Check for a database column or a log field that is too short for it.',
    };
  }
  if (right.includes(text.toLowerCase()) && text !== text.toLowerCase()) {
    return {
      difference: 'upper_case',
      message: 'The digits are right, but in upper case.',
      cure: 'The service sends lower case, and receivers accept nothing else. Find out what changes the header.',
    };
  }
  if (isSignature(text.toLowerCase()) && text === signature) return undefined;
  const inside = right.some((digits) => signature.toLowerCase().includes(digits));
  const base64 = right.some((digits) => Buffer.from(text, 'base64').toString('hex') === digits);
  return {
    difference: 'signature_form',
    message: base64
      ? 'The digest is right, but in base64.'
      : `The signature is not exactly 64 hexadecimal digits${inside ? ', though it contains the right ones' : ''}.`,
    cure: 'Send the 64 lower-case hexadecimal digits alone, without a prefix, quotes or white space.',
  };
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
const LINE_ENDS = ['', '\n', '\r\n'];

function hasBom(body: Buffer): boolean {
  return body.subarray(0, 3).equals(BOM);
}

/** The signature matches a known variant of the bytes. */
function explainBody(body: Buffer, matches: (bytes: Uint8Array) => boolean): Finding | undefined {
  const endsSomehow = (bytes: Buffer) => {
    const bare = withoutLineBreaksAtEnd(bytes);
    return LINE_ENDS.some((end) => matches(Buffer.concat([bare, Buffer.from(end)])));
  };
  if (isUtf16(body)) {
    const isRight = endsSomehow(Buffer.from(fromUtf16(body)));
    return {
      difference: 'utf_16',
      message: `The body is UTF-16${isRight ? '. The signature matches the same text in UTF-8' : ', and deliveries are UTF-8'}.`,
      cure: UTF_16_CURE,
    };
  }
  const encoding = encodingOf(body);
  if (encoding !== undefined) {
    const decoded = decode(body, encoding);
    const isRight = decoded !== undefined && endsSomehow(decoded);
    return {
      difference: 'encoded',
      message: `The body is ${IN_WORDS[encoding]}${isRight ? '. The signature matches what is in it' : ', and deliveries are plain JSON'}.`,
      cure: 'Find out what encoded it: a proxy, an API gateway, or the way in which it was saved. Check the bytes before that.',
    };
  }
  const marked = hasBom(body);
  if (matches(marked ? body.subarray(3) : Buffer.concat([BOM, body]))) {
    return {
      difference: 'bom',
      message: `The signature matches the body ${marked ? 'without' : 'with'} a byte-order mark (BOM).`,
      cure: marked
        ? 'An editor or a logger put EF BB BF before the body. Save it without a BOM.'
        : 'The body was signed with EF BB BF before it. Find out what removed those bytes.',
    };
  }
  const bare = withoutLineBreaksAtEnd(body);
  if (endsSomehow(body)) {
    return {
      difference: 'trailing_newline',
      message: `The signature matches the body ${matches(bare) ? 'without its' : 'with another'} trailing newline.`,
      cure: 'Editors and `echo` add a line break at the end. Use printf %s, or the bytes as they arrived.',
    };
  }
  const visible = Buffer.from(withoutHidden(body.toString('utf8')));
  if (!visible.equals(body) && endsSomehow(visible)) {
    return {
      difference: 'invisible_characters',
      message:
        'The signature matches the body without its invisible characters, such as zero-width or no-break spaces.',
      cure: 'A chat, a web page or an editor put them there. Use the bytes as they arrived.',
    };
  }
  const layout = detectReserialization(body, matches);
  if (layout === undefined) return undefined;
  return {
    difference: 'reserialised',
    message: `The JSON was reserialized: the signature matches the same document, ${layout}.`,
    cure: 'Check the raw bytes before anything parses them. JSON.stringify(JSON.parse(body)) gives different bytes.',
  };
}

const IN_WORDS: Readonly<Record<BodyEncoding, string>> = {
  base64: 'base64',
  gzip: 'compressed with gzip',
  zlib: 'compressed with zlib',
  zstd: 'compressed with zstd',
  'JSON string': 'a JSON string with a document in it',
};

/** A small body can decompress to gigabytes. */
const UP_TO = { maxOutputLength: 10_000_000 };

/** Undefined if it cannot be decoded. */
function decode(body: Buffer, encoding: BodyEncoding): Buffer | undefined {
  try {
    if (encoding === 'gzip') return gunzipSync(body, UP_TO);
    if (encoding === 'zlib') return inflateSync(body, UP_TO);
    if (encoding === 'base64') return Buffer.from(body.toString('latin1').replace(/^\s*"/, ''), 'base64');
    return encoding === 'JSON string' ? Buffer.from(String(JSON.parse(body.toString()))) : undefined;
  } catch {
    return undefined;
  }
}

function explainKey(body: Buffer, signature: string, privateKeys: readonly string[]): Finding {
  const slips: [string, (key: string) => string][] = [
    ['with a line break at its end', (key) => `${key}\n`],
    ['with a colon at its end', (key) => `${key}:`],
    ['in quotes', (key) => `"${key}"`],
  ];
  // Not signBody(), which refuses such keys.
  const signedWith = (key: string) => createHmac('sha256', key).update(body).digest('hex') === signature;
  const [slip] = slips.find(([, change]) => privateKeys.some((key) => signedWith(change(key)))) ?? [];
  if (slip !== undefined) {
    return {
      difference: 'wrong_key',
      message: `Wrong key: it was signed with this key ${slip}.`,
      cure: 'Use the exact key from the dashboard on both sides.',
    };
  }
  const text = body.toString('utf8');
  if (/^\ufeff?\s*[[{]/.test(text) && outlineJson(text).isCut) {
    return {
      difference: 'truncated',
      message: `The body is truncated: its JSON ends early, after ${body.byteLength} bytes.`,
      cure: 'Compare with Content-Length. Check the limits of proxies and logs, and where you copied the body from.',
    };
  }
  const which = privateKeys.length > 1 ? 'any of these keys' : 'this key';
  return {
    difference: 'wrong_key',
    message: `Wrong key: these bytes were not signed with ${which}, and no common mistake explains the difference.`,
    cure: 'Compare the key with the dashboard (live or sandbox? rotated?). If it is right, the content of the body was changed.',
  };
}

/** A loop, because a regular expression would take quadratic time for a body of many line breaks. */
function withoutLineBreaksAtEnd(body: Buffer): Buffer {
  let end = body.byteLength;
  while (body[end - 1] === 0x0a || body[end - 1] === 0x0d) end -= 1;
  return body.subarray(0, end);
}

// More would turn a small body into megabytes of spaces. An ordinary event has about a hundred.
const MAX_INDENTATION = 1_000_000;

const LAYOUTS: readonly (readonly [string, write: (value: unknown) => string])[] = [
  ['without spaces', (value) => JSON.stringify(value)],
  ['with a space after each comma and colon, as Python writes it', spaced],
  ['indented by two spaces', (value) => JSON.stringify(value, null, 2)],
  ['indented by four spaces', (value) => JSON.stringify(value, null, 4)],
  ['indented by tabs', (value) => JSON.stringify(value, null, '\t')],
];

const escapeSlashes = (text: string) => text.replaceAll('/', '\\/');
const escapeLetters = (text: string) => text.replace(/[\u0080-\uffff]/g, unicodeEscape);
const escapeHtml = (text: string) => text.replace(/[<>&\u2028\u2029]/g, unicodeEscape);

const ESCAPES: readonly (readonly [string, (text: string) => string])[] = [
  ['', (text) => text],
  [' and with \\uXXXX for letters beyond ASCII', escapeLetters],
  [' and with \\/ for slashes, as PHP writes it', escapeSlashes],
  [' and with \\/ and \\uXXXX, as PHP writes it', (text) => escapeSlashes(escapeLetters(text))],
  [' and with \\uXXXX for <, > and &, as Go writes it', escapeHtml],
];

/** How the document was written when it was signed; undefined when no known way matches. */
function detectReserialization(body: Buffer, matches: (bytes: Uint8Array) => boolean): string | undefined {
  const received = body.toString('utf8').replace(/^\ufeff/, '');
  const indentable = outlineJson(received).indentation <= MAX_INDENTATION;
  try {
    const value = JSON.parse(received);
    for (const [layout, write] of indentable ? LAYOUTS : LAYOUTS.slice(0, 1)) {
      const text = write(value);
      const found = ESCAPES.find(([, escapeIn]) =>
        ['', '\n'].some((end) => matches(Buffer.from(escapeIn(text) + end))),
      );
      if (found) return layout + found[0];
    }
  } catch {
    // Not JSON, or JSON that is too deep to stringify.
  }
  return undefined;
}

/** Every line break is formatting: inside a string it would be escaped. */
function spaced(value: unknown): string {
  return JSON.stringify(value, null, 1)
    .replace(/,\n */g, ', ')
    .replace(/([[{])\n */g, '$1')
    .replace(/\n *([\]}])/g, '$1');
}

// A string, whose closing quote may be missing, or a character that changes the indentation or begins a line.
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*("?)|[[\]{},]/gs;

/**
 * Reads the outline of a JSON text in one pass, without parsing it: whether it ends inside a string, an array or an
 * object, and the sum of the indentation levels of its lines, if each value had its own line.
 */
function outlineJson(text: string): { readonly isCut: boolean; readonly indentation: number } {
  let [depth, indentation] = [0, 0];
  for (const [token, lastQuote] of text.matchAll(TOKEN)) {
    if (lastQuote === '') return { isCut: true, indentation };
    if (lastQuote !== undefined) continue;
    if (token === '[' || token === '{') depth += 1;
    if (token === ']' || token === '}') depth -= 1;
    indentation += Math.max(0, depth);
  }
  return { isCut: depth > 0, indentation };
}
