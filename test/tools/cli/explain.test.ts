// `explain`: each code with its section of docs/errors.md.
import { describe, expect, test } from '@jest/globals';
import { ANSWERS } from '../../../src/errors.js';
import { runCli } from './run-cli.js';

const codes = Object.entries(ANSWERS);

describe('explain', () => {
  test.each(codes)('%s prints its section, and of that alone', async (code, { message }) => {
    const { code: exit, stdout, stderr } = await runCli(['explain', code]);
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^${code}\n\n`));
    if (!stdout.includes('Never sent:')) expect(stdout).toContain(`"${message}"`);
    expect(stdout.length).toBeGreaterThan(code.length + message.length + 60);
    expect(stdout).not.toMatch(/^## |^```|\]\(/m);
  });

  test('shows the code of a section, and the page that a link leads to', async () => {
    expect((await runCli(['explain', 'BODY_CONSUMED'])).stdout).toContain(
      "  app.post('/hooks', receiver());\n",
    );
    expect((await runCli(['explain', 'HANDLER_TIMEOUT'])).stdout).toContain('(docs/delivery.md)');
  });

  test.each(['store_unavailable', 'store-unavailable', 'Store_Unavailable'])(
    'takes a code however it is written: %s',
    async (typed) => {
      const { stdout } = await runCli(['explain', typed]);
      expect(stdout).toMatch(/^STORE_UNAVAILABLE\n/);
    },
  );

  test('lists every code with its status when none is given', async () => {
    const { code, stdout } = await runCli(['explain']);
    expect(code).toBe(0);
    const rows = stdout.trim().split('\n');
    expect(rows.map((row) => row.split(/\s+/).slice(0, 2))).toEqual(
      codes.map(([name, { status }]) => [name, name === 'BODY_ABORTED' ? '0' : String(status)]),
    );
  });

  test('refuses an unknown code, with the nearest one and the list', async () => {
    const { code, stdout, stderr } = await runCli(['explain', 'SIGNATURE_MISSMATCH']);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('CODE "SIGNATURE_MISSMATCH" does not exist. Did you mean "SIGNATURE_MISMATCH"?');
    for (const [name] of codes) expect(stderr).toContain(name);
  });

  test('prints JSON for programs', async () => {
    const one = JSON.parse((await runCli(['explain', 'CLOSING', '--json'])).stdout);
    expect(one).toEqual({ code: 'CLOSING', ...ANSWERS.CLOSING, text: expect.stringContaining('`close()`') });
    const all = (await runCli(['explain', '--json'])).stdout.trim().split('\n');
    expect(all.map((line) => JSON.parse(line).code)).toEqual(codes.map(([name]) => name));
  });
});
