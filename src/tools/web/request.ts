// What both page servers share: checks of the host, path and query of a request, and response headers.
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';

const LOOPBACK_HEADER = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;
/** A host, with or without a port. */
export const HOST_HEADER = /^(\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i;

/**
 * Whether a `Host` header names this machine or an allowed host. Protects against DNS rebinding.
 *
 * @param allowed as {@link hostName} returns them
 */
export function isAllowedHost(header: string, allowed: ReadonlySet<string>): boolean {
  // Strict: an IPv4-mapped IPv6 address such as ::ffff:127.0.0.1 does not count.
  if (LOOPBACK_HEADER.test(header)) return true;
  const [, host = ''] = HOST_HEADER.exec(header) ?? [];
  return host !== '' && allowed.has(canonical(host));
}

/** The `Host` headers of a request. HTTP/2 has only `:authority`. */
export function hostHeaders({ headers, headersDistinct }: IncomingMessage): readonly string[] {
  if (headersDistinct as unknown) return headersDistinct.host ?? [];
  const host = headers[':authority'] ?? headers.host;
  return typeof host === 'string' ? [host] : [];
}

/** A host as browsers send it; undefined for an invalid host, or one with a port. */
export function hostName(text: string): string | undefined {
  const bracketed = isIP(text) === 6 ? `[${text}]` : text;
  // Browsers send Punycode.
  const host = /^[\x21-\x7e]*$/.test(bracketed) ? bracketed : domainToASCII(bracketed);
  const [whole, name] = HOST_HEADER.exec(host) ?? [];
  return name === undefined || whole !== name || canonical(name) === '' ? undefined : canonical(name);
}

/** Names in lower case, IPv6 addresses in their shortest form; empty for an invalid address. */
function canonical(host: string): string {
  if (!host.startsWith('[')) return host.toLowerCase();
  return isIP(host.slice(1, -1)) === 6 ? new URL(`http://${host}/`).hostname : '';
}

/** Forbids caching, framing, MIME sniffing, and scripts and styles that are inline or from other origins. */
export const PAGE_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
} as const;

export const READ_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Includes the mount path, which Express removes from `url`. */
export function originalUrl(request: IncomingMessage): string {
  return (request as { readonly originalUrl?: string }).originalUrl ?? request.url ?? '';
}

/** Parsed here, because Express 4 and 5 parse queries differently. */
export function queryOf(request: IncomingMessage): URLSearchParams {
  const [, query] = originalUrl(request).split(/\?(.*)/s);
  return new URLSearchParams(query);
}
