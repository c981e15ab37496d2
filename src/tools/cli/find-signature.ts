// Finds the header of a captured delivery that has the signature, in any form and by any key.
import { signingKeys, signWith } from '../../signature.js';
import type { HeaderPair, SignatureFinding } from '../simulator/delivery/simulated-delivery.js';
import { printable } from './print.js';
import { explainMismatch } from './signature.js';

/** Trying every way to write a larger document would take seconds, and strangers can send it. */
const MAX_EXPLAINED = 100_000;

/** @returns a function that never tells what the signature would have to be */
export function signatureFinder(keys: readonly string[]) {
  const known = signingKeys(keys);
  return (headers: readonly HeaderPair[], body: Buffer): SignatureFinding => {
    const digests = known.map((key) => signWith(body, key));
    for (const [header, value] of headers) {
      for (const [key, digest] of digests.entries()) {
        const form = formOf(value, digest);
        if (form !== undefined) return found(header, form, key, keys.length);
      }
    }
    return { header: null, form: null, key: null, message: whyNot(headers, body, keys) };
  };
}

/** Null for 64 lower-case digits alone; undefined if the digest is not in the value. */
function formOf(value: string, digest: string): string | null | undefined {
  if (value === digest) return null;
  const inBase64 = Buffer.from(digest, 'hex').toString('base64').replace(/=+$/, '');
  const forms: [text: string, name: string][] = [
    [digest, 'digits'],
    [digest.toUpperCase(), 'digits in upper case'],
    [inBase64, 'digest in base64'],
    [inBase64.replaceAll('+', '-').replaceAll('/', '_'), 'digest in base64url'],
  ];
  const [text = '', name] = forms.find(([text]) => value.includes(text)) ?? [];
  if (name === undefined) return value.toLowerCase().includes(digest) ? 'digits in mixed case' : undefined;
  const prefix = value.slice(0, value.indexOf(text)).slice(-20);
  return prefix === '' ? name : `${name} after the prefix ${JSON.stringify(printable(prefix))}`;
}

function found(header: string, form: string | null, key: number, keys: number): SignatureFinding {
  const name = printable(header);
  const sentences = [
    `The signature is in ${name}${form === null ? '' : `, as the ${form}`}.`,
    `Set signatureHeader: '${name}'${form === null ? '.' : ', and pass on the 64 lower-case digits alone, because receivers accept nothing else.'}`,
    ...(keys > 1 ? [`It was made with key ${key + 1} of ${keys}.`] : []),
  ];
  return { header, form, key, message: sentences.join(' ') };
}

/** What `verify` would say about the header that looks most like a signature. */
function whyNot(headers: readonly HeaderPair[], body: Buffer, keys: readonly string[]): string {
  const isNamed = ([name]: HeaderPair) => /signature|hmac/i.test(name);
  const isDigest = ([, value]: HeaderPair) => /[0-9a-f]{64}|[\w+/-]{43}=/i.test(value);
  const [name, value] = headers.find(isNamed) ?? headers.find(isDigest) ?? [];
  if (name === undefined || value === undefined)
    return 'No header looks like a signature. Check whether the tunnel drops headers.';
  const start = `${printable(name)} does not hold the signature of these bytes.`;
  if (body.byteLength > MAX_EXPLAINED) return `${start} Save the body, and run payment-webhooks verify.`;
  const [digits = value] = /[0-9a-f]{64}/i.exec(value) ?? [];
  const { message, cure } = explainMismatch(digits.toLowerCase(), body, keys);
  return `${start} ${message} ${cure}`;
}
