import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

test('a process ends by itself when its server is closed, with no timer and no rejection left', async () => {
  const script = join(__dirname, 'setup/short-life.ts');
  const life = promisify(execFile)(process.execPath, ['--import', 'tsx', script], { timeout: 80_000 });
  expect(await life).toEqual({ stdout: 'ConfigurationError\n200 200 500 500 401 200\n', stderr: '' });
}, 90_000);
