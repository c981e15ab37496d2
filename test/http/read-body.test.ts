// The collector alone: what it holds while a body arrives. How bodies are answered is in receiver/capture-body.test.ts.
import { describe, expect, test } from '@jest/globals';
import { ChunkedBody } from '../../src/http/chunked-body.js';
import { SizedBody } from '../../src/http/sized-body.js';

const SLAB = 16_384;
const byte = Buffer.from('x');

/** Memory of buffers, that of garbage with it. */
const held = () => process.memoryUsage().arrayBuffers;

describe('a body of announced length', () => {
  test('that comes in one chunk is that chunk, and not a copy', () => {
    const collector = new SizedBody(4);
    const chunk = Buffer.from('four');
    expect(collector.add(chunk)).toBeUndefined();
    expect(collector.end()).toBe(chunk);
  });

  test.each([
    ['its first chunk', ['more than four']],
    ['a later one', ['tw', 'o!', '!']],
  ])('that is longer is refused with %s, not when it ends', (_, chunks) => {
    const collector = new SizedBody(4);
    const last = Buffer.from(chunks.at(-1) as string);
    for (const chunk of chunks.slice(0, -1)) expect(collector.add(Buffer.from(chunk))).toBeUndefined();
    expect(collector.add(last)).toBe('other length');
  });
});

describe('a body of unknown length', () => {
  test.each([1, SLAB - 1, SLAB, SLAB + 1, 3 * SLAB])('has every byte in its place: %i bytes', (length) => {
    const body = Buffer.from(Array.from({ length }, (_, index) => index % 251));
    for (const size of [7, 1_000, SLAB, length]) {
      const collector = new ChunkedBody(length);
      for (let at = 0; at < length; at += size)
        expect(collector.add(body.subarray(at, at + size))).toBeUndefined();
      expect(body.equals(collector.end() as Buffer)).toBe(true);
    }
  });

  test('takes no slab for each chunk: 2,000 of one byte fit into one', () => {
    const collector = new ChunkedBody(100_000);
    const before = held();
    for (let count = 0; count < 2_000; count += 1) collector.add(byte);
    // A slab for each would be 32 MB.
    expect(held() - before).toBeLessThan(1_000_000);
    expect(collector.end()).toHaveLength(2_000);
  });
});
