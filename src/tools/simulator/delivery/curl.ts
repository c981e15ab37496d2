// Builds the curl command that resends the bytes of an attempt.
import type { SimulatedAttempt } from './simulated-delivery.js';

/** Headers that curl adds itself. */
const CURL_HEADERS: ReadonlySet<string> = new Set(['host', 'content-length', 'connection']);

// Linux limits one argument of a program to 128 KiB.
const MAX_ARGUMENT = 100_000;

/** For `sh`, `bash` and `zsh`. */
export function curlCommand({ url, headers, body }: SimulatedAttempt): string {
  // As the simulator requests it: escaped, without `..` and without a fragment.
  const { origin, pathname, search } = new URL(url);
  const text = shellQuote(body.toString('utf8'));
  // `printf` is a shell builtin, so that limit does not apply.
  const piped = body.byteLength > MAX_ARGUMENT;
  const options = headers
    .filter(([name]) => !CURL_HEADERS.has(name.toLowerCase()))
    .map(([name, value]) => `-H ${shellQuote(`${name}: ${value}`)}`);
  return `${[
    // -g: otherwise curl expands brackets and braces to several URLs.
    `${piped ? `printf %s ${text} | ` : ''}curl -i -g -X POST ${shellQuote(origin + pathname + search)}`,
    ...options,
    // --data-binary would read a file if the text begins with "@".
    piped ? '--data-binary @-' : `--data-raw ${text}`,
  ].join(' \\\n  ')}\n`;
}

/** Quotes text as one word: within single quotes `sh`, `bash` and `zsh` expand nothing, not even `!`. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
