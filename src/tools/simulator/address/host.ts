// Classifies IP addresses by the kind of network that they belong to.
import { isIP } from 'node:net';
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js';

/** `never`: metadata services, and addresses that are not unicast. */
export type AddressKind = 'loopback' | 'private' | 'public' | 'never';

type Address = IPv4 | IPv6;

/** Cloud metadata services with addresses that are not link-local. */
const METADATA: [Address, number][] = [
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
  'fd00:ec2::/32',
  'fd20:ce::/32',
].map((network) => ipaddr.parseCIDR(network));

/** By the ranges of ipaddr.js. All other ranges are public, and need an allowed target. */
const KINDS: ReadonlyMap<string, AddressKind> = new Map([
  ['loopback', 'loopback'],
  ['private', 'private'],
  ['uniqueLocal', 'private'],
  ['linkLocal', 'never'],
  ['deprecatedSiteLocal', 'never'],
  ['unspecified', 'never'],
  ['multicast', 'never'],
  ['broadcast', 'never'],
]);

/** The IPv6 ranges that embed an IPv4 address: mapped, translated, NAT64, 6to4 and Teredo. */
const WRAPPING = new Set(['ipv4Mapped', 'rfc6145', 'rfc6052', '6to4', 'teredo']);

/** @param address an IP address as text, in any form that Node or a resolver gives */
export function addressKind(address: string): AddressKind {
  const parsed = parseAddress(address);
  if (!parsed || ipaddr.subnetMatch(parsed, { metadata: METADATA }, '') === 'metadata') return 'never';
  return KINDS.get(parsed.range()) ?? 'public';
}

/** Whether only this machine can reach a server on this host. @param host a name or an address, with or without the brackets of a URL */
export function isLocalHost(host: string): boolean {
  return host.toLowerCase() === 'localhost' || addressKind(host.replace(/^\[|\]$/g, '')) === 'loopback';
}

export function isSameAddress(one: string, other: string): boolean {
  const address = parseAddress(one);
  return address !== undefined && address.toString() === parseAddress(other)?.toString();
}

/** Removes the zone, and unwraps an embedded IPv4 address; undefined for an invalid address. */
function parseAddress(text: string): Address | undefined {
  const [bare = ''] = text.split('%');
  // ipaddr.js alone would also accept forms such as 0x7f.1.
  if (!isIP(bare)) return undefined;
  const address = ipaddr.parse(bare);
  const range = address.range();
  const bytes = address.toByteArray();
  // ipaddr.js has no range for IPv4-compatible addresses: it reports unicast.
  const isCompatible = range === 'unicast' && bytes.slice(0, 12).every((byte) => byte === 0);
  if (bytes.length === 4 || !(WRAPPING.has(range) || isCompatible)) return address;
  const wrapped = range === '6to4' ? bytes.slice(2, 6) : bytes.slice(12);
  // Teredo inverts the bits.
  return ipaddr.fromByteArray(range === 'teredo' ? wrapped.map((byte) => byte ^ 0xff) : wrapped);
}
