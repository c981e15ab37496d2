// What kind of network an IP address belongs to, whatever it is dressed up as.
import { BlockList, isIP } from 'node:net';

/** `near`: this machine or a private network; `public`; `never`: metadata services and what is no unicast host. */
export type AddressKind = 'near' | 'public' | 'never';

type Family = 'ipv4' | 'ipv6';
type Range = readonly [network: string, prefix: number];

// 169.254.0.0/16 and fe80::/10 are link-local: cloud metadata stands there, and no endpoint of a person.
// The rest are metadata services at other addresses, and networks that are no host.
const NEVER: readonly Range[] = [
  ['0.0.0.0', 8],
  ['169.254.0.0', 16],
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['192.0.0.0', 24],
  ['224.0.0.0', 3],
  ['::', 128],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
  ['fd00:ec2::', 32],
  ['fd20:ce::', 32],
];
const NEAR: readonly Range[] = [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['::1', 128],
  ['fc00::', 7],
];
const LOOPBACK: readonly Range[] = [
  ['127.0.0.0', 8],
  ['::1', 128],
];

const never = blockList(NEVER);
const near = blockList(NEAR);
const loopback = blockList(LOOPBACK);

/** @param address an IP address as text, in any form that Node or a resolver gives */
export function addressKind(address: string): AddressKind {
  const plain = undress(address);
  if (plain === undefined || lies(plain, never)) return 'never';
  return lies(plain, near) ? 'near' : 'public';
}

export function isLoopback(address: string): boolean {
  const plain = undress(address);
  return plain !== undefined && lies(plain, loopback);
}

/** The IPv4 address that an IPv6 one only wraps, else the address itself; undefined for what is no address. */
function undress(address: string): string | undefined {
  const bare = address.split('%')[0] ?? '';
  if (isIP(bare) === 4) return bare;
  if (isIP(bare) !== 6) return undefined;
  const groups = groupsOf(bare);
  const at = (index: number) => groups[index] ?? 0;
  const leading = (count: number, ...values: number[]) =>
    Array.from({ length: count }, (_, index) => at(index) === (values[index] ?? 0)).every(Boolean);
  const v4 = (high: number, low: number) => [high >> 8, high & 255, low >> 8, low & 255].join('.');
  const tail = v4(at(6), at(7));
  // IPv4-mapped, IPv4-translated and the two NAT64 prefixes.
  if (leading(6, 0, 0, 0, 0, 0, 0xffff) || leading(6, 0, 0, 0, 0, 0xffff, 0)) return tail;
  if (leading(6, 0x64, 0xff9b) || leading(3, 0x64, 0xff9b, 1)) return tail;
  // IPv4-compatible; `::` and `::1` are addresses of their own.
  if (leading(6) && (at(6) !== 0 || at(7) > 1)) return tail;
  if (at(0) === 0x2002) return v4(at(1), at(2));
  // Teredo carries the client's address inverted.
  if (leading(2, 0x2001, 0)) return v4(at(6) ^ 0xffff, at(7) ^ 0xffff);
  return bare;
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  // The URL parser writes every form the same way: no dotted tail, no leading zeros.
  const text = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = '', tail] = text.split('::');
  const numbers = (part: string) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const before = numbers(head);
  if (tail === undefined) return before;
  const behind = numbers(tail);
  return [...before, ...new Array<number>(8 - before.length - behind.length).fill(0), ...behind];
}

function lies(address: string, list: BlockList): boolean {
  return list.check(address, familyOf(address));
}

function blockList(ranges: readonly Range[]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, familyOf(network));
  return list;
}

function familyOf(address: string): Family {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}
