// Guards every request: security headers, the same-origin check, and `authorize`.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { describeError, writeLog } from '../../../logger.js';
import { HttpError } from '../../web/http-error.js';
import { HOST_HEADER, hostHeaders, isAllowedHost, PAGE_HEADERS, READ_METHODS } from '../../web/request.js';
import { pathOf } from './page-http.js';
import type { PageSettings } from './page-options.js';

/** Keeps log lines and tombstones short. */
const MAX_USER_LENGTH = 100;

export function setPageHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(PAGE_HEADERS)) response.setHeader(name, value);
  // Earlier middleware, such as cors(), may have allowed other origins.
  for (const name of response.getHeaderNames())
    if (name.startsWith('access-control-')) response.removeHeader(name);
}

/** @returns the name of the user @throws {HttpError} for a user who is not authorized */
export async function authorized(request: IncomingMessage, settings: PageSettings): Promise<string> {
  const { authorize, hosts, logFor } = settings;
  requireOwnOrigin(request, hosts);
  const deny = (message: string, fields: object = {}) => {
    writeLog(logFor(request), 'error', fields, message);
    return new HttpError(500, 'Your request could not be authorized. Check the log.');
  };
  let user: unknown;
  let name: string | undefined;
  try {
    user = await authorize(request);
    name = nameOf(user);
  } catch (error) {
    throw deny('authorize of deadLetterPage() failed, so access was denied', { error: describeError(error) });
  }
  if (user === 'login') throw new HttpError(401, 'Sign in to see this page.');
  if (name === '')
    throw new HttpError(403, 'You are not allowed to see this page. Sign in with another account.');
  if (name !== undefined) return name;
  throw deny(
    'authorize of deadLetterPage() must return a user name, or an object with name or id; access was denied',
  );
}

/** Empty for a refused user, undefined if nothing identifies the user in a log. */
function nameOf(user: unknown): string | undefined {
  if (!user) return '';
  const { name, id } = (typeof user === 'object' ? user : {}) as Record<string, unknown>;
  const known = [user, name, id].find((text) => typeof text === 'string' && text.trim() !== '');
  if (typeof known === 'string') return known.slice(0, MAX_USER_LENGTH);
  return Number.isFinite(id) ? String(id) : undefined;
}

/** What Express adds to a request. */
interface ExpressRequest {
  readonly app?: { readonly get?: (name: string) => unknown };
  readonly secure?: boolean;
}

/** @throws {HttpError} 403 that says what is wrong, and what to configure */
function requireOwnOrigin(request: IncomingMessage, hosts: ReadonlySet<string> | undefined): void {
  const host = askedHost(request);
  if (host === undefined) throw new HttpError(403, 'The Host header of this request is invalid.');
  if (hosts && !isAllowedHost(host, hosts)) {
    throw new HttpError(
      403,
      `This page does not answer to the host ${JSON.stringify(host.slice(0, 100))}. Add it to hosts of deadLetterPage().`,
    );
  }
  const check = READ_METHODS.has(request.method ?? '') ? foreignRead : foreignWrite;
  const foreign = check(request, host);
  if (foreign) throw new HttpError(403, foreign);
}

/** The requested host; behind a proxy that the app trusts, its X-Forwarded-Host. */
function askedHost(request: IncomingMessage): string | undefined {
  const { headers, socket } = request;
  const trust = (request as ExpressRequest).app?.get?.('trust proxy fn');
  const trusted = typeof trust === 'function' && trust(socket.remoteAddress, 0);
  const forwarded = trusted ? headers['x-forwarded-host'] : undefined;
  const [host = '', ...others] = hostHeaders(request);
  const asked = typeof forwarded === 'string' ? (forwarded.split(',')[0] ?? '').trim() : host;
  return others.length === 0 && HOST_HEADER.test(asked) ? asked : undefined;
}

const OTHER_ORIGIN =
  'This request comes from a different origin than the page. Open the page, and try again there.';

/** Checks the headers in which browsers name the sending page. Scripts cannot change them. */
function foreignRead(request: IncomingMessage, host: string): string | undefined {
  const { origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest } = request.headers;
  if (origin !== undefined && !isOwn(origin, request, host) && site !== 'same-origin') return OTHER_ORIGIN;
  if (site === undefined || site === 'same-origin' || site === 'none') return undefined;
  // Any site may link to the page, but not load it in a frame.
  const isVisit = pathOf(request) === '/' && mode === 'navigate' && dest === 'document';
  return isVisit ? undefined : OTHER_ORIGIN;
}

function foreignWrite(request: IncomingMessage, host: string): string | undefined {
  const { origin, authorization, cookie, 'sec-fetch-site': site } = request.headers;
  if (site !== undefined) return site === 'same-origin' ? undefined : OTHER_ORIGIN;
  if (origin !== undefined) {
    if (isOwn(origin, request, host)) return undefined;
    return `${OTHER_ORIGIN} If this is the page, a proxy changes the Host header: forward it, or set "trust proxy" in the app.`;
  }
  // Programs send credentials explicitly. Browsers attach cookies to cross-site requests too.
  if (authorization !== undefined || cookie === undefined) return undefined;
  return 'This request has a cookie and no Origin. Send an Authorization header instead of the cookie.';
}

function isOwn(origin: string, request: IncomingMessage, host: string): boolean {
  try {
    const { protocol, origin: normal } = new URL(origin);
    if (protocol !== 'https:' && (protocol !== 'http:' || isSecure(request))) return false;
    // The scheme is not compared: a proxy may terminate TLS without saying so.
    return normal === new URL(`${protocol}//${host}`).origin;
  } catch {
    return false;
  }
}

function isSecure(request: IncomingMessage): boolean {
  // Express knows whether a trusted proxy terminated TLS.
  return (request as ExpressRequest).secure ?? (request.socket as Partial<TLSSocket>).encrypted === true;
}
