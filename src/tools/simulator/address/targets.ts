// Decides where webhooks may point to: at registration, and again for every connection.
import dns, { type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import { after } from '../real-time.js';
import { type AddressKind, addressKind, isSameAddress } from './host.js';

export class TargetNotAllowed extends Error {
  readonly code = 'TARGET_REFUSED';
}

// A slow resolver must not block a registration; the connection is checked again.
const LOOKUP_TIMEOUT_MS = 2_000;
const MAX_URL_LENGTH = 2_048;

export function urlError(url: unknown): string | undefined {
  if (typeof url !== 'string' || url === '') return 'The url is required and must be a string.';
  if (url.length > MAX_URL_LENGTH) return `The url is longer than ${MAX_URL_LENGTH} characters.`;
  // The URL parser would silently drop line breaks and tabs.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters
  if (/[\u0000-\u0020\u007f]/.test(url)) return 'The url contains white space or a control character.';
  if (!URL.canParse(url)) return 'The url must be an absolute URL, such as http://127.0.0.1:3000/hooks.';
  // The URL parser would read the path of http:/hooks as the host.
  if (!/^https?:\/\/[^/\\]/i.test(url))
    return 'The url must begin with http:// or https://, followed by a host.';
  const { username, password } = new URL(url);
  if (username || password) return 'The url must not contain a user name or password.';
  return undefined;
}

export class Targets {
  readonly #allowed: ReadonlySet<string>;
  /** Where the simulator listens, on loopback or everywhere: it must not deliver to itself. */
  own = { port: 0, everywhere: false };

  constructor(allowed: readonly string[]) {
    this.#allowed = new Set(allowed.map((host) => host.replace(/^\[|\]$/g, '')));
  }

  /** Why a webhook may not have this URL. A name that does not resolve is accepted: it may resolve later. */
  async refusal(text: string): Promise<string | undefined> {
    const url = new URL(text);
    return this.#firstRefusal(url, await lookUp(hostOf(url)));
  }

  /**
   * For `http.request()`, which then connects to the checked addresses: protects against DNS rebinding.
   *
   * @throws {TargetNotAllowed} for an IP address, which is not looked up
   */
  lookupFor(url: URL): LookupFunction {
    const host = hostOf(url);
    const refusalOfIp = isIP(host) ? this.#refusalOf(url, host) : undefined;
    if (refusalOfIp) throw new TargetNotAllowed(refusalOfIp);
    return (hostname, options, callback) => {
      dns.lookup(hostname, { ...options, all: true }, (error, addresses) => {
        const refusal = error ? undefined : this.#firstRefusal(url, addresses);
        const first = addresses?.[0];
        if (error) callback(error, '');
        else if (refusal || !first) callback(new TargetNotAllowed(refusal ?? 'The name has no address.'), '');
        else if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      });
    };
  }

  #firstRefusal(url: URL, addresses: readonly LookupAddress[]): string | undefined {
    for (const { address } of addresses) {
      const refusal = this.#refusalOf(url, address);
      if (refusal) return refusal;
    }
    return undefined;
  }

  #refusalOf(url: URL, address: string): string | undefined {
    const host = hostOf(url);
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    const kind = addressKind(address);
    const shown = host === address ? host : `${host} (${address})`;
    if (kind === 'never') {
      return `The simulator never connects to ${shown}: link-local, metadata and special addresses are refused.`;
    }
    if (port === this.own.port && this.#isOwn(address, kind)) {
      return "This is the simulator's own address. Use the URL of your endpoint.";
    }
    const name = host.replace(/\.$/, '');
    if (kind !== 'public' || this.#allowed.has(name) || this.#allowed.has(address)) return undefined;
    return (
      `The simulator connects only to this machine and private networks, and ${shown} is public. ` +
      `To allow it, start the simulator with --allow-target ${name}, or with allowTargets in a program.`
    );
  }

  #isOwn(address: string, kind: AddressKind): boolean {
    if (kind === 'loopback') return true;
    const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
    return this.own.everywhere && own.some((one) => isSameAddress(one.address, address));
  }
}

/** The name or address, without the brackets of IPv6. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** The addresses of a name; empty if it does not resolve in time. */
function lookUp(hostname: string): Promise<LookupAddress[]> {
  return new Promise((resolve) => {
    after(LOOKUP_TIMEOUT_MS, () => resolve([]));
    dns.lookup(hostname, { all: true }, (error, addresses) => resolve(error ? [] : addresses));
  });
}
