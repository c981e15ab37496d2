import { expect, test } from '@jest/globals';
import { newToken } from '../../src/contracts/token.js';

test('tokens are 32 hex digits, and no two are the same', () => {
  const tokens = Array.from({ length: 1_000 }, newToken);
  expect(tokens.filter((token) => !/^[0-9a-f]{32}$/.test(token))).toEqual([]);
  expect(new Set(tokens).size).toBe(1_000);
});
