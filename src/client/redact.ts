// Takes the credential out of what the service or the network says, before an error shows it.

const MARK = '[redacted]';

/** Every spelling of a credential that a server may echo. */
export function spellings(credential: { readonly secret: string; readonly header: string }): string[] {
  const { secret, header } = credential;
  const sent = header.slice(header.indexOf(' ') + 1);
  const plain = [secret, sent, Buffer.from(secret).toString('base64')].map((text) => text.replace(/=+$/, ''));
  const all = plain.flatMap((text) => [
    text,
    encodeURIComponent(text),
    text.replaceAll('+', '-').replaceAll('/', '_'),
    JSON.stringify(text).slice(1, -1),
  ]);
  // The longest first: one spelling may begin with another, and the rest of it must not remain.
  return [...new Set(all)].filter((text) => text !== '').sort((one, other) => other.length - one.length);
}

export function redactText(text: string, secrets: readonly string[]): string {
  return secrets.reduce((clean, secret) => clean.replaceAll(secret, MARK), text);
}

/** Redacts every text and every name in a value of `JSON.parse`, in place. A loop: the value may be too deep to recurse. */
export function redactJson(value: unknown, secrets: readonly string[]): unknown {
  const root = { value };
  const waiting: Record<string, unknown>[] = [root];
  for (let holder = waiting.pop(); holder; holder = waiting.pop()) {
    for (const [name, entry] of Object.entries(holder)) {
      const cleanName = Array.isArray(holder) ? name : redactText(name, secrets);
      const clean = typeof entry === 'string' ? redactText(entry, secrets) : entry;
      if (cleanName !== name) delete holder[name];
      if (cleanName !== name || clean !== entry) define(holder, cleanName, clean);
      if (typeof clean === 'object' && clean !== null) waiting.push(clean as Record<string, unknown>);
    }
  }
  return root.value;
}

/** Assignment would call the setter of a field named `__proto__`. */
function define(holder: object, name: string, value: unknown): void {
  Object.defineProperty(holder, name, { value, enumerable: true, writable: true, configurable: true });
}
