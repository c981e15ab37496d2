// Finds files in an encoding other than UTF-8, and characters that nobody sees.
import { CommandError } from './command.js';

export const UTF_16_CURE =
  'In PowerShell, > writes UTF-16. Save the bytes as they arrived, or as UTF-8 without a byte-order mark.';
const HIDDEN = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu;

/** By its byte-order mark, or because each of its first two characters has a NUL. */
export function isUtf16(bytes: Uint8Array): boolean {
  const [a, b, c, d] = bytes;
  if ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff)) return true;
  return (a !== 0 && b === 0 && c !== 0 && d === 0) || (a === 0 && b !== 0 && c === 0 && d !== 0);
}

/** The text of a UTF-16 file, without its byte-order mark. */
export function fromUtf16(bytes: Buffer): string {
  const whole = Buffer.from(bytes.subarray(0, bytes.length - (bytes.length % 2)));
  const isBigEndian = bytes[0] === 0 || bytes[0] === 0xfe;
  return (isBigEndian ? whole.swap16() : whole).toString('utf16le').replace(/^\ufeff/, '');
}

/** @throws {CommandError} for UTF-16 */
export function inUtf8(name: string, bytes: Buffer): Buffer {
  if (isUtf16(bytes)) throw new CommandError(`${name} is UTF-16. ${UTF_16_CURE}`);
  return bytes;
}

/** Without zero-width and other invisible characters, and with ordinary spaces. */
export function withoutHidden(text: string): string {
  return text.replace(HIDDEN, '').replace(/[^\S\r\n\t ]/g, ' ');
}

/** Why a text cannot be parsed: the rest of a sentence. */
export function whyNotJson(text: string): string {
  const [hidden] = text.match(HIDDEN) ?? [];
  if (hidden === undefined || !isJson(withoutHidden(text))) return 'is not JSON';
  const code = hidden.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  return `is not JSON, because it has an invisible character (U+${code})`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
