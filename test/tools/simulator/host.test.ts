// What kind of network an address belongs to, in every form of IPv6 that wraps an IPv4 address.
import { describe, expect, test } from '@jest/globals';
import { addressKind, isLocalHost, isSameAddress } from '../../../src/tools/simulator/address/host.js';

/** The second half of an IPv6 address, in hexadecimal groups. */
function groups(ipv4: string, invert = 0): string {
  const [a = 0, b = 0, c = 0, d = 0] = ipv4.split('.').map((byte) => Number(byte) ^ invert);
  return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

const FORMS: [string, (ipv4: string) => string][] = [
  ['IPv4', (ipv4) => ipv4],
  ['IPv4-mapped', (ipv4) => `::ffff:${ipv4}`],
  ['IPv4-mapped in hexadecimal', (ipv4) => `0:0:0:0:0:FFFF:${groups(ipv4)}`],
  ['IPv4-translated', (ipv4) => `::ffff:0:${groups(ipv4)}`],
  ['IPv4-compatible', (ipv4) => `::${groups(ipv4)}`],
  ['NAT64', (ipv4) => `64:ff9b::${groups(ipv4)}`],
  ['local NAT64', (ipv4) => `64:ff9b:1:2:3:4:${groups(ipv4)}`],
  ['6to4', (ipv4) => `2002:${groups(ipv4)}::1`],
  ['Teredo', (ipv4) => `2001:0:1234:5678:0:0:${groups(ipv4, 0xff)}`],
];

describe.each(FORMS)('%s', (_, form) => {
  test.each([
    ['169.254.169.254', 'never'],
    ['169.254.0.1', 'never'],
    ['100.100.100.200', 'never'],
    ['168.63.129.16', 'never'],
    ['192.0.0.192', 'never'],
    ['0.1.2.3', 'never'],
    ['224.0.0.1', 'never'],
    ['255.255.255.255', 'never'],
    ['127.0.0.1', 'loopback'],
    ['10.1.2.3', 'private'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['172.32.0.1', 'public'],
    ['8.8.8.8', 'public'],
    ['100.64.0.1', 'public'],
    ['198.18.0.1', 'public'],
  ])('%s is %s', (ipv4, kind) => {
    expect(addressKind(form(ipv4))).toBe(kind);
    expect(isLocalHost(form(ipv4))).toBe(ipv4 === '127.0.0.1');
    expect(isSameAddress(form(ipv4), ipv4)).toBe(true);
  });
});

test.each([
  ['::', 'never'],
  ['::1', 'loopback'],
  ['0.0.0.0', 'never'],
  ['fe80::1', 'never'],
  ['fe80::1%eth0', 'never'],
  ['fe80::a9fe:a9fe', 'never'],
  ['febf::1', 'never'],
  ['fec0::1', 'never'],
  ['ff02::1', 'never'],
  ['fd00:ec2::254', 'never'],
  ['fd20:ce::254', 'never'],
  ['127.255.255.254', 'loopback'],
  ['fd00:ec3::254', 'private'],
  ['2001:1::1', 'public'],
  ['64:ff9b:2::a9fe:a9fe', 'public'],
  ['0x7f.1', 'never'],
  ['localhost', 'never'],
  ['', 'never'],
])('%j is %s', (address, kind) => {
  expect(addressKind(address)).toBe(kind);
});

test('text that is not an address is the same as no address', () => {
  expect(isSameAddress('localhost', 'localhost')).toBe(false);
});
