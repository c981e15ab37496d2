import { expect, test } from '@jest/globals';
import { simulator } from '../simulator/world.js';
import { runCli } from './run-cli.js';

// That the old key no longer works: simulator/key-rotation.test.ts.
test('keys rotate prints the new key once', async () => {
  const service = await simulator();
  const { code, stdout, stderr } = await runCli(['keys', 'rotate', '--url', service.baseUrl]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: `SERVICE_PRIVATE_KEY=${service.privateKey}\n` });
  expect(service.privateKey).toMatch(/^pri_sim_[0-9a-f]{32}$/);
  expect(stderr).toContain('Start your app with the new one, or with both.');
  expect(stderr).not.toContain(service.privateKey);
});

test('keys rotate --json prints one object, and nothing else', async () => {
  const service = await simulator();
  const { stdout, stderr } = await runCli(['keys', 'rotate', '--json', '--url', service.baseUrl]);
  expect(JSON.parse(stdout)).toEqual({ private_key: service.privateKey });
  expect(stderr).toBe('');
});
