// Normalizes headers to the form of Node, and selects those that may leave the process.
import type { IncomingHttpHeaders } from 'node:http';

/** A Node header object, an API gateway's (any case, lists), or the `Headers` of fetch. */
export type HeadersLike =
  | IncomingHttpHeaders
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | Headers;

/** Lower-case names. Values of the same name are joined. */
export function headersOf(given: HeadersLike | null | undefined): IncomingHttpHeaders {
  // No prototype: a header may be named like one of its members.
  const headers: IncomingHttpHeaders = Object.create(null);
  const add = (name: string, value: unknown) => {
    if (value === undefined || value === null) return;
    const key = name.toLowerCase();
    const text = Array.isArray(value) ? value.join(', ') : String(value);
    headers[key] = headers[key] === undefined ? text : `${headers[key]}, ${text}`;
  };
  try {
    // Every implementation of Headers is iterable; `instanceof` would know only the global one.
    const entries = given && Symbol.iterator in given ? (given as Headers) : Object.entries(given ?? {});
    for (const [name, value] of entries) add(name, value);
    return headers;
  } catch {
    // Unreadable headers have no signature, so the delivery is refused.
    return Object.create(null);
  }
}

const CREDENTIAL_NAME =
  /authorization|authenti|(?:^|-)auth(?:-|$)|cookie|token|secret|passw|passphrase|credential|(?<!idempotency-)key|session|client-?cert|assertion|jwt|oidc|principal|signature|hmac|dpop/;
/** A signature or another digest of 64 digits, a Bearer or Basic value, a JWT, or a secret in the query of a URL. */
const CREDENTIAL_VALUE =
  /(?<![0-9a-z])[0-9a-f]{64}(?![0-9a-z])|^(?:bearer|basic|digest)\s|\beyJ[\w-]+\.[\w-]+\.|[?&][\w.-]*(?:code|key|token|secret|sig|auth|passw)[\w.-]*=/i;

/** Whether a header of this name carries credentials. The name is in lower case. */
export function isCredential(name: string): boolean {
  return CREDENTIAL_NAME.test(name);
}

/** The headers that may leave the process: those without credentials in their name or value. */
export function withoutCredentials(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const safe = Object.entries(headers).filter(
    ([name, value]) => !isCredential(name) && !CREDENTIAL_VALUE.test(String(value)),
  );
  return Object.fromEntries(safe);
}

/** Headers that say how a delivery arrived, and how to find it in other logs. */
const KEPT =
  /^(?:content-type|user-agent|(?:[\w-]+-)?(?:request|correlation|trace)-?id|traceparent|tracestate|b3|x-b3-[\w-]+|x-cloud-trace-context|cf-ray|x-amz-cf-id|x-azure-ref|x-vercel-id)$/;

/** The headers that a dead letter keeps. @param more names in lower case that are kept too */
export function keptHeaders(headers: IncomingHttpHeaders, more: readonly string[]): Record<string, string> {
  // No prototype: a header may be named like one of its members.
  const kept: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(withoutCredentials(headers))) {
    if (value === undefined || !(KEPT.test(name) || more.includes(name))) continue;
    kept[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return kept;
}
