// Why a signature and a body do not belong together: undoes each usual accident until they do.
import { createHmac } from 'node:crypto';
import { isSignature, type SigningKey, sign, signingKeys, verify } from '../signature.js';
import { reserialised } from './reserialised.js';

export type Difference =
  | 'signature_missing'
  | 'signature_form'
  | 'upper_case'
  | 'truncated'
  | 'bom'
  | 'trailing_newline'
  | 'reserialised'
  | 'wrong_key';

export type Verdict =
  | { readonly valid: true; readonly keyIndex: number }
  | {
      readonly valid: false;
      readonly difference: Difference;
      /** What differs. */
      readonly message: string;
      /** What to do about it. */
      readonly cure: string;
    };

type Finding = Omit<Extract<Verdict, { valid: false }>, 'valid'>;

export function explainSignature(body: Buffer, signature: string, privateKeys: readonly string[]): Verdict {
  const keys = signingKeys(privateKeys);
  const keyIndex = isSignature(signature) ? verify(body, signature, keys) : -1;
  if (keyIndex !== -1) return { valid: true, keyIndex };
  const finding =
    signatureFinding(body, signature, privateKeys) ??
    bodyFinding(body, signature.trim().toLowerCase(), keys) ??
    keyFinding(body, signature.trim().toLowerCase(), privateKeys);
  return { valid: false, ...finding };
}

/** The signature itself is not what the service sends. */
function signatureFinding(
  body: Buffer,
  signature: string,
  privateKeys: readonly string[],
): Finding | undefined {
  const right = privateKeys.map((key) => sign(body, key));
  const text = signature.trim();
  if (text === '') {
    return {
      difference: 'signature_missing',
      message: 'There is no signature.',
      cure: 'Give the value of X-SERVICE-SIGNATURE with --signature; look whether a proxy drops the header.',
    };
  }
  if (/^[0-9a-f]{1,63}$/i.test(text)) {
    const whole = right.some((digits) => digits.startsWith(text.toLowerCase()));
    return {
      difference: 'truncated',
      message: `The signature is truncated: ${text.length} of 64 digits${whole ? ', and those are right' : ''}.`,
      cure: 'Copy the whole value; look for a column or a log field that is too short for it.',
    };
  }
  if (right.includes(text.toLowerCase()) && text !== text.toLowerCase()) {
    return {
      difference: 'upper_case',
      message: 'The digits are right, but in upper case.',
      cure: 'The service sends lower case, and receivers take nothing else: look what changes the header on its way.',
    };
  }
  if (isSignature(text.toLowerCase()) && text === signature) return undefined;
  const inside = right.some((digits) => signature.toLowerCase().includes(digits));
  const base64 = right.some((digits) => Buffer.from(text, 'base64').toString('hex') === digits);
  return {
    difference: 'signature_form',
    message: base64
      ? 'The digest is right, but in base64.'
      : `The signature is not exactly 64 hexadecimal digits${inside ? ', though the right ones are in it' : ''}.`,
    cure: 'Send the 64 lower-case hexadecimal digits alone, without a prefix, quotes or white space.',
  };
}

/** The signature fits other bytes than these, and we know which. */
function bodyFinding(body: Buffer, signature: string, keys: readonly SigningKey[]): Finding | undefined {
  const fits = (bytes: Uint8Array) => isSignature(signature) && verify(bytes, signature, keys) !== -1;
  const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
  const hasBom = body.subarray(0, 3).equals(BOM);
  if (fits(hasBom ? body.subarray(3) : Buffer.concat([BOM, body]))) {
    return {
      difference: 'bom',
      message: `The signature fits the body ${hasBom ? 'without' : 'with'} a byte-order mark (BOM).`,
      cure: hasBom
        ? 'An editor or a logger put EF BB BF before the body: save it without a BOM.'
        : 'The body was signed with EF BB BF before it, and something took that away.',
    };
  }
  const bare = body.toString('latin1').replace(/[\r\n]+$/, '');
  const ends = ['', '\n', '\r\n'].map((end) => Buffer.from(bare + end, 'latin1'));
  if (ends.some(fits)) {
    const less = fits(Buffer.from(bare, 'latin1'));
    return {
      difference: 'trailing_newline',
      message: `The signature fits the body ${less ? 'without its' : 'with another'} trailing newline.`,
      cure: 'Editors and `echo` add a line break at the end; use printf %s, or take the bytes as they arrived.',
    };
  }
  const style = reserialised(body, fits);
  if (style !== undefined) {
    return {
      difference: 'reserialised',
      message: `The JSON was re-serialised: the signature fits the same document, ${style}.`,
      cure: 'Check the raw bytes, before anything parses them: JSON.stringify(JSON.parse(body)) gives others.',
    };
  }
  return undefined;
}

function keyFinding(body: Buffer, signature: string, privateKeys: readonly string[]): Finding {
  const slips: [string, (key: string) => string][] = [
    ['with a line break at its end', (key) => `${key}\n`],
    ['with a colon at its end', (key) => `${key}:`],
    ['in quotes', (key) => `"${key}"`],
  ];
  const [slip] =
    slips.find(([, change]) => privateKeys.some((key) => digest(body, change(key)) === signature)) ?? [];
  if (slip !== undefined) {
    return {
      difference: 'wrong_key',
      message: `Wrong key: it was signed with this key ${slip}.`,
      cure: 'Take exactly the key of the dashboard on both sides.',
    };
  }
  if (breaksOff(body.toString('utf8'))) {
    return {
      difference: 'truncated',
      message: `The body is truncated: its JSON breaks off after ${body.byteLength} bytes.`,
      cure: 'Compare with Content-Length; look for a limit in a proxy, in a log, or where you copied it from.',
    };
  }
  return {
    difference: 'wrong_key',
    message: `Wrong key: these bytes, or what they were before a usual accident, were not signed with ${privateKeys.length > 1 ? 'any of these keys' : 'this key'}.`,
    cure: 'Compare the key with the dashboard (live or sandbox? rotated?). If it is right, the content of the body was changed.',
  };
}

/** Without the checks of `sign()`, which refuses keys like these. */
function digest(body: Buffer, key: string): string {
  return createHmac('sha256', key).update(body).digest('hex');
}

/** Whether a text begins as JSON and ends inside a string, a list or an object. */
function breaksOff(text: string): boolean {
  if (!/^\ufeff?\s*[[{]/.test(text)) return false;
  const outsideStrings = text.replace(/"(?:[^"\\]|\\.)*"/gs, '');
  const opened = outsideStrings.match(/[[{]/g)?.length ?? 0;
  const closed = outsideStrings.match(/[\]}]/g)?.length ?? 0;
  return outsideStrings.includes('"') || opened > closed;
}
