// Recognizes a body that something encoded on its way. Its signature is over the bytes before that.

export type BodyEncoding = 'base64' | 'gzip' | 'zlib' | 'zstd' | 'JSON string';

/** The first bytes of compressed data. Brotli and raw deflate have none. */
const MAGIC: readonly (readonly [BodyEncoding, digits: RegExp])[] = [
  ['gzip', /^1f8b/],
  ['zlib', /^78(?:01|5e|9c|da)/],
  ['zstd', /^28b52ffd/],
];

/** How the bytes were encoded; undefined if they begin like a JSON document, or like nothing that is known. */
export function encodingOf(body: Uint8Array): BodyEncoding | undefined {
  // "{": the body of nearly every rejected delivery too, and rejecting has to cost little.
  if (body[0] === 0x7b) return undefined;
  const start = Buffer.from(body.subarray(0, 64));
  const digits = start.toString('hex');
  const compressed = MAGIC.find(([, magic]) => magic.test(digits))?.[0];
  if (compressed !== undefined) return compressed;
  const text = start.toString('latin1').trimStart();
  if (/^"\s*\\?[{"]/.test(text)) return 'JSON string';
  const bare = text.replace(/^"/, '');
  if (!/^[\w+/-]{4,}={0,2}["\s]*$/.test(bare)) return undefined;
  const decoded = Buffer.from(bare, 'base64');
  if (encodingOf(decoded) !== undefined) return 'base64';
  return /^(?:\u00ef\u00bb\u00bf)?\s*[[{]/.test(decoded.toString('latin1')) ? 'base64' : undefined;
}
