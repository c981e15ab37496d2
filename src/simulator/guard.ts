// Who may talk to the simulator: this machine, and no web page but its own.
import type { RequestHandler } from 'express';

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

const HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** Stands before every route: answers 403 to a request that a foreign web page may have caused. */
export const guard: RequestHandler = (request, response, next) => {
  response.set(HEADERS);
  const hosts = request.headersDistinct.host ?? [];
  const [host = ''] = hosts;
  // A name that an attacker owns can be made to resolve to 127.0.0.1; the Host header then still bears that name.
  if (hosts.length !== 1 || !LOOPBACK_HOST.test(host) || !request.url.startsWith('/')) {
    response.status(403).json({
      message: `Forbidden: the simulator answers only to localhost and loopback addresses, not to the host ${JSON.stringify(host.slice(0, 100))}.`,
    });
  } else if (!isSameOrigin(request.headers.origin, host) || isForeignWrite(request)) {
    response
      .status(403)
      .json({ message: "Forbidden: this request comes from another origin than the simulator's own page." });
  } else next();
};

/** Stands before writes: a form, or a script of another origin, cannot send this content type unasked. */
export const requireJson: RequestHandler = (request, response, next) => {
  const type = request.headers['content-type'];
  const bodiless = request.method === 'DELETE' && type === undefined;
  if (READS.has(request.method) || bodiless || isJson(type)) return next();
  response.status(415).json({ message: 'Send this request with Content-Type: application/json.' });
};

function isSameOrigin(origin: string | undefined, host: string): boolean {
  return origin === undefined || origin.toLowerCase() === `http://${host.toLowerCase()}`;
}

function isForeignWrite({ method, headers }: Parameters<RequestHandler>[0]): boolean {
  const site = headers['sec-fetch-site'];
  return !READS.has(method) && site !== undefined && site !== 'same-origin' && site !== 'none';
}

function isJson(type: string | undefined): boolean {
  return type?.split(';')[0]?.trim().toLowerCase() === 'application/json';
}
