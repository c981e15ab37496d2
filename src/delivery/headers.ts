// Headers as Node gives them: names in lower case, values of the same name joined.
import type { IncomingHttpHeaders } from 'node:http';

/** A Node header object, an API gateway's (any case, lists), or the `Headers` of fetch. */
export type HeadersLike =
  | IncomingHttpHeaders
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | Headers;

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
    // What cannot be read as headers has no signature in it, and is refused for that.
    return Object.create(null);
  }
}
