// Hosts: what kind of network an IP address belongs to.
import { isIP } from 'node:net';
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js';

/** `never`: metadata services and what is not a unicast host. */
export type AddressKind = 'loopback' | 'private' | 'public' | 'never';

type Address = IPv4 | IPv6;

const RANGES = {
  // Link-local and special networks, and the metadata services of clouds.
  never: ranges(
    '0.0.0.0/8',
    '169.254.0.0/16',
    '100.100.100.200/32',
    '168.63.129.16/32',
    '192.0.0.0/24',
    '224.0.0.0/3',
    '::/128',
    'fe80::/10',
    'fec0::/10',
    'ff00::/8',
    'fd00:ec2::/32',
    'fd20:ce::/32',
  ),
  loopback: ranges('127.0.0.0/8', '::1/128'),
  private: ranges('10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'),
};

/** The first byte of the IPv4 address within each kind of IPv6 address that wraps one. */
const WRAPPERS: readonly [range: [Address, number], firstByte: number][] = [
  // IPv4-mapped, IPv4-translated and the two prefixes of NAT64.
  [ipaddr.parseCIDR('::ffff:0:0/96'), 12],
  [ipaddr.parseCIDR('::ffff:0:0:0/96'), 12],
  [ipaddr.parseCIDR('64:ff9b::/96'), 12],
  [ipaddr.parseCIDR('64:ff9b:1::/48'), 12],
  // 6to4
  [ipaddr.parseCIDR('2002::/16'), 2],
];
const UNSPECIFIED_OR_LOOPBACK = ipaddr.parseCIDR('::/127');
const IPV4_COMPATIBLE = ipaddr.parseCIDR('::/96');
const TEREDO = ipaddr.parseCIDR('2001::/32');

/** @param address an IP address as text, in any form that Node or a resolver gives */
export function addressKind(address: string): AddressKind {
  const parsed = parseAddress(address);
  return parsed ? (ipaddr.subnetMatch(parsed, RANGES, 'public') as AddressKind) : 'never';
}

/** Whether only this machine can reach what listens there. @param host a name or an address, as in a URL or without brackets */
export function isLocalHost(host: string): boolean {
  return host.toLowerCase() === 'localhost' || addressKind(host.replace(/^\[|\]$/g, '')) === 'loopback';
}

export function isSameAddress(one: string, other: string): boolean {
  const address = parseAddress(one);
  return address !== undefined && address.toString() === parseAddress(other)?.toString();
}

/** Without a zone, and as IPv4 where IPv6 wraps it; undefined for text that is not an address. */
function parseAddress(text: string): Address | undefined {
  const [bare = ''] = text.split('%');
  // ipaddr.js alone would also read forms such as 0x7f.1.
  if (!isIP(bare)) return undefined;
  const address = ipaddr.parse(bare);
  const bytes = address.toByteArray();
  if (bytes.length === 4) return address;
  const ipv4 = (first: number) => ipaddr.fromByteArray(bytes.slice(first, first + 4));
  for (const [range, firstByte] of WRAPPERS) if (address.match(range)) return ipv4(firstByte);
  if (address.match(IPV4_COMPATIBLE) && !address.match(UNSPECIFIED_OR_LOOPBACK)) return ipv4(12);
  // Teredo holds the client's address inverted.
  if (address.match(TEREDO)) return ipaddr.fromByteArray(bytes.slice(12).map((byte) => byte ^ 0xff));
  return address;
}

function ranges(...networks: string[]): [Address, number][] {
  return networks.map((network) => ipaddr.parseCIDR(network));
}
