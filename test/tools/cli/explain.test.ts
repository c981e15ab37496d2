// `explain`: each code with its section of docs/errors.md.
import { describe, expect, test } from '@jest/globals';
import { ANSWERS } from '../../../src/errors.js';
import { failed, jsonLines, runCli } from './run-cli.js';

const codes = Object.entries(ANSWERS);

describe('explain', () => {
  test.each(codes)('%s prints its section, and of that alone', async (code, { message }) => {
    const { stdout, ...end } = await runCli(['explain', code]);
    expect(end).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^${code}\n\n`));
    if (!stdout.includes('Never sent:')) expect(stdout).toContain(`"${message}"`);
    expect(stdout.length).toBeGreaterThan(code.length + message.length + 60);
    expect(stdout).not.toMatch(/^## |^```|\]\(/m);
  });

  test('shows the code of a section, and the page that a link leads to', async () => {
    const textOf = async (code: string) => (await runCli(['explain', code])).stdout;
    expect(await textOf('BODY_CONSUMED')).toContain("  app.post('/hooks', receiver());\n");
    expect(await textOf('HANDLER_TIMEOUT')).toContain('(docs/delivery.md)');
  });

  test.each(['store_unavailable', 'store-unavailable', 'Store_Unavailable'])(
    'takes a code however it is written: %s',
    async (typed) => {
      expect((await runCli(['explain', typed])).stdout).toMatch(/^STORE_UNAVAILABLE\n/);
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
    const run = await runCli(['explain', 'SIGNATURE_MISSMATCH']);
    const reason = 'CODE "SIGNATURE_MISSMATCH" does not exist. Did you mean "SIGNATURE_MISMATCH"?';
    expect(run).toEqual(failed(2, reason));
    for (const [name] of codes) expect(run.stderr).toContain(name);
  });

  test('prints JSON for programs', async () => {
    const one = { code: 'CLOSING', ...ANSWERS.CLOSING, text: expect.stringContaining('`close()`') };
    expect(jsonLines(await runCli(['explain', 'CLOSING', '--json']))).toEqual([one]);
    const all = jsonLines(await runCli(['explain', '--json']));
    expect(all.map(({ code }) => code)).toEqual(codes.map(([name]) => name));
  });
});
