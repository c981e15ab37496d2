import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import { testOnLinux } from './setup/platform.js';

const MANY = 300;
const LIFE = join(__dirname, 'setup/logging-life.ts');

function start(way: string) {
  return spawn(process.execPath, ['--import', 'tsx', LIFE, way], { timeout: 80_000 });
}

describe('the lines of the default logger', () => {
  test.each([
    ['ends by itself', 0],
    ['exits', 0],
    ['throws', 1],
  ])(
    'are all written, whole and in order, when the process %s',
    async (way, exitCode) => {
      const child = start(way);
      const [[code], stdout] = await Promise.all([once(child, 'close'), text(child.stdout)]);
      expect(code).toBe(exitCode);
      const lines = stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(lines).toHaveLength(MANY);
      expect(lines.every(({ outcome, msg }) => outcome === 'processed' && msg === 'delivery')).toBe(true);
      const times = lines.map(({ time }) => time);
      expect(times).toEqual([...times].sort((one, other) => one - other));
    },
    90_000,
  );

  testOnLinux.each(['goes on', 'exits'])(
    'cost no event when the disk is full, and the process %s',
    async (way) => {
      const script = `exec "$NODE" --import tsx "$LIFE" "${way}" >/dev/full </dev/null`;
      const env = { ...process.env, NODE: process.execPath, LIFE };
      const child = spawn('sh', ['-c', script], { timeout: 80_000, env });
      const [[code], stderr] = await Promise.all([once(child, 'exit'), text(child.stderr)]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: way === 'exits' ? '' : '200\n' });
    },
    90_000,
  );

  test('cost no event when nobody reads them any more', async () => {
    const child = start('goes on');
    const stderr = text(child.stderr);
    await once(createInterface(child.stdout), 'line');
    child.stdout.destroy();
    child.stdin.end();
    const [code] = await once(child, 'exit');
    expect({ code, stderr: await stderr }).toEqual({ code: 0, stderr: '200\n' });
  }, 90_000);
});
