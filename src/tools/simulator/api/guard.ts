// Protects every route: only this machine, allowed hosts and the simulator's own page may send requests.
import type { RequestHandler } from 'express';
import { hostName, isAllowedHost } from '../../pages/allowed-host.js';
import { HttpError } from '../../pages/http-error.js';
import { PAGE_HEADERS } from '../../pages/page-headers.js';
import { READ_METHODS } from '../../pages/route.js';

/**
 * Answers 403 to a request that a web page of another origin may have caused.
 *
 * @param allowHosts the hosts that a request may name, in addition to those of this machine
 */
export function guard(allowHosts: readonly string[]): RequestHandler {
  const allowed = new Set(allowHosts);
  return (request, response, next) => {
    response.set(PAGE_HEADERS);
    const hosts = request.headersDistinct.host ?? [];
    const [host = ''] = hosts;
    // An attacker can make a name resolve to 127.0.0.1, but the Host header still has that name.
    if (hosts.length !== 1 || !isAllowedHost(host, allowed) || !request.url.startsWith('/'))
      next(new HttpError(403, hostMessage(host)));
    else if (!isSameOrigin(request.headers.origin, host) || isForeignWrite(request))
      next(
        new HttpError(
          403,
          "Forbidden: this request comes from another origin than the simulator's own page.",
        ),
      );
    else next();
  };
}

function hostMessage(host: string): string {
  const name = hostName(host.replace(/:\d{1,5}$/, ''));
  const hint = name
    ? ` To allow it, start the simulator with --allow-host ${name}, or with allowHosts in a program.`
    : '';
  return `Forbidden: the simulator answers to localhost, loopback addresses and allowed hosts, not to ${JSON.stringify(host.slice(0, 100))}.${hint}`;
}

function isSameOrigin(origin: string | undefined, host: string): boolean {
  return origin === undefined || origin.toLowerCase() === `http://${host.toLowerCase()}`;
}

function isForeignWrite({ method, headers }: Parameters<RequestHandler>[0]): boolean {
  const site = headers['sec-fetch-site'];
  return !READ_METHODS.has(method) && site !== undefined && site !== 'same-origin' && site !== 'none';
}
