import { createHash, createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { DigestFingerprint, SignatureFingerprint } from '../../src/claims/fingerprint.js';
import { signingKeys } from '../../src/signature.js';

const [bytes, other] = [Buffer.from('{"a":1}'), Buffer.from('{"a":2}')];
const KEYS = ['pri_new', 'pri_old'];
const hmac = (body: Buffer, key: string) => createHmac('sha256', key).update(body).digest('hex');
const sha256 = (body: Buffer) => createHash('sha256').update(body).digest('hex');
const signed = (body: Buffer, key: string) =>
  new SignatureFingerprint(hmac(body, key), body, signingKeys(KEYS));

describe('the fingerprint of a signed delivery', () => {
  test('is the first twelve digits of its signature', () => {
    expect(signed(bytes, 'pri_new').text).toBe(hmac(bytes, 'pri_new').slice(0, 12));
  });

  test.each([
    ['stored now', hmac(bytes, 'pri_new').slice(0, 12), true],
    ['stored when another of the keys signed', hmac(bytes, 'pri_old').slice(0, 12), true],
    ['stored by a replay', sha256(bytes), true],
    ['of other bytes', hmac(other, 'pri_new').slice(0, 12), false],
    ['of other bytes, stored by a replay', sha256(other), false],
    ['signed with a key that is no longer known', hmac(bytes, 'pri_gone').slice(0, 12), false],
    ['too short', hmac(bytes, 'pri_new').slice(0, 11), false],
    ['empty', '', false],
    ['no text', undefined as unknown as string, false],
  ])('is compared with one %s', (_, stored, same) => {
    expect(signed(bytes, 'pri_new').matches(stored)).toBe(same);
  });
});

test('the fingerprint of bytes without a signature is their SHA-256', () => {
  const fingerprint = new DigestFingerprint(bytes);
  expect(fingerprint.text).toBe(sha256(bytes));
  expect([fingerprint.matches(sha256(bytes)), fingerprint.matches(sha256(other))]).toEqual([true, false]);
});

describe('the fingerprint of bytes that were kept', () => {
  const kept = (key: string) => new DigestFingerprint(bytes, hmac(bytes, key), signingKeys(KEYS));

  test('is their SHA-256', () => {
    expect(kept('pri_new').text).toBe(sha256(bytes));
  });

  // It was proven when it was kept.
  test('knows a run of the same signature, though its key is no longer configured', () => {
    expect(kept('pri_gone').matches(hmac(bytes, 'pri_gone').slice(0, 12))).toBe(true);
    expect(kept('pri_gone').matches(hmac(other, 'pri_gone').slice(0, 12))).toBe(false);
  });

  test('knows a delivery of the same bytes under any of the keys, and a replay of them', () => {
    const matches = (stored: string) => kept('pri_gone').matches(stored);
    expect([hmac(bytes, 'pri_old').slice(0, 12), sha256(bytes)].map(matches)).toEqual([true, true]);
    expect([hmac(other, 'pri_old').slice(0, 12), sha256(other)].map(matches)).toEqual([false, false]);
  });
});
