// An attempt as one shell command that sends the same bytes again.
import type { AttemptEntry } from './delivery.js';

/** What curl adds by itself. */
const OWN: ReadonlySet<string> = new Set(['host', 'content-length', 'connection']);

export function curlCommand({ url, headers, body }: AttemptEntry): string {
  const options = headers
    .filter(([name]) => !OWN.has(name.toLowerCase()))
    .map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  // Not --data-binary: it would read a file when the text begins with "@".
  const parts = [`curl -i -X POST ${quote(url)}`, ...options, `--data-raw ${quote(body.toString('utf8'))}`];
  return `${parts.join(' \\\n  ')}\n`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
