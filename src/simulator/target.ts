// A webhook's URL, taken apart for sending; and whom the simulator may talk to.
import dns, { type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { addressKind, isLoopback } from './address.js';
import { pause } from './real-time.js';

/** A webhook's URL in the parts that a request needs. */
export interface Target {
  readonly secure: boolean;
  readonly hostname: string;
  readonly port: number;
  readonly path: string;
  /** Name and port, as the Host header has them. */
  readonly host: string;
  /** Why no connection is made; for an address that is written out, because no look-up will come by to check it. */
  readonly refusal: string | undefined;
  /** The look-up of a connection; it checks what a name resolves to. */
  readonly lookup: LookupFunction;
}

/** A connection that was refused by this side: the address is none that the simulator talks to. */
export class TargetRefused extends Error {
  readonly code = 'TARGET_REFUSED';
}

// Longer, and a resolver that does not answer would hold up a registration; the connection is checked anyway.
const RESOLVE_MS = 2_000;
const LONGEST_URL = 2_048;
const MOST_KNOWN = 1_000;

/** What is wrong with the text of a webhook's URL; undefined when nothing is. */
export function urlFault(url: unknown): string | undefined {
  if (typeof url !== 'string' || url === '') return 'The url is required and must be text.';
  if (url.length > LONGEST_URL) return `The url is longer than ${LONGEST_URL} characters.`;
  // The URL parser would drop line breaks and tabs silently.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\u0000-\u0020\u007f]/.test(url)) return 'The url has white space or a control character in it.';
  if (!URL.canParse(url)) return 'The url is not an absolute URL, like http://127.0.0.1:3000/hooks.';
  const { protocol, username, password } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') return 'The url must begin with http:// or https://.';
  if (username || password) return 'The url must not hold a user name or password.';
  return undefined;
}

/** Decides which targets are allowed: at registration, and again when a connection is made. */
export class Targets {
  readonly #allowed: ReadonlySet<string>;
  // A URL is taken apart once, and not for each of its deliveries.
  readonly #known = new Map<string, Target>();
  /** The simulator's own port: it must not deliver to itself. */
  ownPort = 0;

  constructor(allowed: readonly string[]) {
    this.#allowed = new Set(allowed.map((host) => host.replace(/^\[|\]$/g, '')));
  }

  /** Why a webhook may not point there; a name that does not resolve now may do so later. */
  async refusal(url: string): Promise<string | undefined> {
    const { hostname, port, refusal } = this.of(url);
    if (isIP(hostname)) return refusal;
    const addresses = await Promise.race([resolve(hostname), pause(RESOLVE_MS).then(() => [])]);
    return this.#firstRefusal(hostname, addresses, port);
  }

  /** @throws {TypeError} for what is no URL: ask {@link urlFault} first */
  of(url: string): Target {
    const known = this.#known.get(url);
    if (known) return known;
    const { protocol, port: written, pathname, search, host, hostname: bracketed } = new URL(url);
    const secure = protocol === 'https:';
    const hostname = bracketed.replace(/^\[|\]$/g, '');
    const port = written === '' ? (secure ? 443 : 80) : Number(written);
    const refusal = isIP(hostname) ? this.#refusalOf(hostname, hostname, port) : undefined;
    const target = {
      secure,
      hostname,
      port,
      path: pathname + search,
      host,
      refusal,
      lookup: this.#lookup(port),
    };
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    this.#known.set(url, target);
    return target;
  }

  /** Hands on only addresses that it has checked itself: an answer that differs from the one at registration gains nothing. */
  #lookup(port: number): LookupFunction {
    return (hostname, options, callback) => {
      dns.lookup(hostname, { ...options, all: true }, (error, addresses) => {
        const refusal = error ? undefined : this.#firstRefusal(hostname, addresses, port);
        const first = addresses?.[0];
        if (error) callback(error, '');
        else if (refusal || !first) callback(new TargetRefused(refusal ?? 'The name has no address.'), '');
        else if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      });
    };
  }

  #firstRefusal(host: string, addresses: readonly LookupAddress[], port: number): string | undefined {
    for (const { address } of addresses) {
      const refusal = this.#refusalOf(host, address, port);
      if (refusal) return refusal;
    }
    return undefined;
  }

  #refusalOf(host: string, address: string, port: number): string | undefined {
    const kind = addressKind(address);
    if (kind === 'never') {
      return `The simulator never connects to ${where(host, address)}: link-local, metadata and special addresses are refused.`;
    }
    if (port === this.ownPort && isLoopback(address)) {
      return "This is the simulator's own address. Give the URL of your endpoint.";
    }
    const name = host.toLowerCase().replace(/\.$/, '');
    if (kind === 'near' || this.#allowed.has(name) || this.#allowed.has(address)) return undefined;
    return `The simulator connects only to this machine and private networks, and ${where(host, address)} is public. To allow it: --allow-target ${name} (allowTargets).`;
  }
}

function where(host: string, address: string): string {
  return host === address ? host : `${host} (${address})`;
}

function resolve(hostname: string): Promise<LookupAddress[]> {
  return new Promise((done) => {
    dns.lookup(hostname, { all: true }, (error, addresses) => done(error ? [] : addresses));
  });
}
