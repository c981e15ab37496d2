// `verify`: whether a signature belongs to a body, and if not, why they differ.
import { createHmac } from 'node:crypto';
import {
  isSignature,
  type SigningKey,
  sign,
  signingKeys,
  verify as verifySignature,
} from '../../signature.js';
import { command, EXIT, jsonOption, keyFileOption, text } from './command.js';
import { detectReserialization, outlineJson } from './detect-reserialization.js';
import { painter } from './print.js';
import { bodyOption, readBody, readKeys } from './read-input.js';

export const verify = command({
  about:
    'Checks the signature over the bytes of the body. If they do not match, it says why: wrong key, reserialized JSON, a byte-order mark, a trailing newline, upper case, or truncated (a signature of fewer than 64 digits, or a body that ends in the middle of its JSON). A key file may hold several keys, one per line.',
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
    const keys = await readKeys(values['key-file'], terminal);
    const body = await readBody('--body', values.body, terminal);
    const verdict = explainSignature(body, values.signature ?? '', keys);
    const paint = painter(terminal.stdout, terminal.env);
    if (verdict.valid) {
      const which = keys.length > 1 ? ` It was made with key ${verdict.keyIndex + 1} of ${keys.length}.` : '';
      const text = `${paint('green', 'Valid:')} the signature belongs to this body.${which}`;
      return { values: [verdict], text };
    }
    const { fix, ...difference } = verdict;
    const text = `${paint('red', 'Not valid:')} ${verdict.message}\n${fix}`;
    return { values: [{ ...difference, cure: fix }], text, exitCode: EXIT.failed };
  },
});

type Difference =
  | 'signature_missing'
  | 'signature_form'
  | 'upper_case'
  | 'truncated'
  | 'bom'
  | 'trailing_newline'
  | 'reserialised'
  | 'wrong_key';

interface Finding {
  readonly difference: Difference;
  /** What differs. */
  readonly message: string;
  readonly fix: string;
}

type Verdict = { readonly valid: true; readonly keyIndex: number } | ({ readonly valid: false } & Finding);

/** Undoes each common mistake until the two match. */
function explainSignature(body: Buffer, signature: string, privateKeys: readonly string[]): Verdict {
  const keys = signingKeys(privateKeys);
  const keyIndex = isSignature(signature) ? verifySignature(body, signature, keys) : -1;
  if (keyIndex !== -1) return { valid: true, keyIndex };
  const digits = signature.trim().toLowerCase();
  const finding =
    explainForm(body, signature, privateKeys) ??
    explainBody(body, digits, keys) ??
    explainKey(body, digits, privateKeys);
  return { valid: false, ...finding };
}

/** The signature does not have the form that the service sends. */
function explainForm(body: Buffer, signature: string, privateKeys: readonly string[]): Finding | undefined {
  const right = privateKeys.map((key) => sign(body, key));
  const text = signature.trim();
  if (text === '') {
    return {
      difference: 'signature_missing',
      message: 'There is no signature.',
      fix: 'Give the value of X-SERVICE-SIGNATURE with --signature. If it never arrived, check whether a proxy drops the header.',
    };
  }
  if (/^[0-9a-f]{1,63}$/i.test(text)) {
    const whole = right.some((digits) => digits.startsWith(text.toLowerCase()));
    return {
      difference: 'truncated',
      message: `The signature is truncated: ${text.length} of 64 digits${whole ? ', and those are right' : ''}.`,
      fix: 'Copy the whole value. Check for a database column or a log field that is too short for it.',
    };
  }
  if (right.includes(text.toLowerCase()) && text !== text.toLowerCase()) {
    return {
      difference: 'upper_case',
      message: 'The digits are right, but in upper case.',
      fix: 'The service sends lower case, and receivers accept nothing else. Find what changes the header on its way.',
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
    fix: 'Send the 64 lower-case hexadecimal digits alone, without a prefix, quotes or white space.',
  };
}

/** The signature matches other bytes than these, and we know which. */
function explainBody(body: Buffer, signature: string, keys: readonly SigningKey[]): Finding | undefined {
  const matches = (bytes: Uint8Array) =>
    isSignature(signature) && verifySignature(bytes, signature, keys) !== -1;
  const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
  const hasBom = body.subarray(0, 3).equals(BOM);
  if (matches(hasBom ? body.subarray(3) : Buffer.concat([BOM, body]))) {
    return {
      difference: 'bom',
      message: `The signature matches the body ${hasBom ? 'without' : 'with'} a byte-order mark (BOM).`,
      fix: hasBom
        ? 'An editor or a logger put EF BB BF before the body. Save it without a BOM.'
        : 'The body was signed with EF BB BF before it. Find what removed those bytes.',
    };
  }
  const bare = withoutLineBreaksAtEnd(body);
  if (['', '\n', '\r\n'].some((end) => matches(Buffer.concat([bare, Buffer.from(end)])))) {
    return {
      difference: 'trailing_newline',
      message: `The signature matches the body ${matches(bare) ? 'without its' : 'with another'} trailing newline.`,
      fix: 'Editors and `echo` add a line break at the end. Use printf %s, or the bytes as they arrived.',
    };
  }
  const layout = detectReserialization(body, matches);
  if (layout === undefined) return undefined;
  return {
    difference: 'reserialised',
    message: `The JSON was reserialized: the signature matches the same document, ${layout}.`,
    fix: 'Check the raw bytes before anything parses them. JSON.stringify(JSON.parse(body)) gives different bytes.',
  };
}

function explainKey(body: Buffer, signature: string, privateKeys: readonly string[]): Finding {
  const slips: [string, (key: string) => string][] = [
    ['with a line break at its end', (key) => `${key}\n`],
    ['with a colon at its end', (key) => `${key}:`],
    ['in quotes', (key) => `"${key}"`],
  ];
  // Not with sign(), which refuses keys like these.
  const signedWith = (key: string) => createHmac('sha256', key).update(body).digest('hex') === signature;
  const [slip] = slips.find(([, change]) => privateKeys.some((key) => signedWith(change(key)))) ?? [];
  if (slip !== undefined) {
    return {
      difference: 'wrong_key',
      message: `Wrong key: it was signed with this key ${slip}.`,
      fix: 'Use exactly the key of the dashboard on both sides.',
    };
  }
  const text = body.toString('utf8');
  if (/^\ufeff?\s*[[{]/.test(text) && outlineJson(text).isCut) {
    return {
      difference: 'truncated',
      message: `The body is truncated: its JSON ends early, after ${body.byteLength} bytes.`,
      fix: 'Compare with Content-Length. Check the limits of proxies and logs, and where you copied the body from.',
    };
  }
  const which = privateKeys.length > 1 ? 'any of these keys' : 'this key';
  return {
    difference: 'wrong_key',
    message: `Wrong key: these bytes were not signed with ${which}, and undoing the common mistakes did not help.`,
    fix: 'Compare the key with the dashboard (live or sandbox? rotated?). If it is right, the content of the body was changed.',
  };
}

/** A loop, because a pattern would start again at each line break of the body. */
function withoutLineBreaksAtEnd(body: Buffer): Buffer {
  let end = body.byteLength;
  while (body[end - 1] === 0x0a || body[end - 1] === 0x0d) end -= 1;
  return body.subarray(0, end);
}
