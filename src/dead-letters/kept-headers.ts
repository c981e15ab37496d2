// The headers that are kept with the bytes of an event: all but those that are credentials.
import type { IncomingHttpHeaders } from 'node:http';

/** Not the signature: it is no credential for other bytes, and handlers may look at it. */
const CREDENTIAL = /authorization|cookie|token|secret|password|credential|api-?key|session|client-cert/;

export function keptHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  // No prototype: a header may be named like one of its members.
  const kept: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || CREDENTIAL.test(name)) continue;
    kept[name] = Array.isArray(value) ? value.join(', ') : String(value);
  }
  return kept;
}
