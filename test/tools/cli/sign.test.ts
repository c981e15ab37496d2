import { describe, expect, test } from '@jest/globals';
import { opensslHmac } from '../simulator/world.js';
import { fileWith } from './files.js';
import { jsonLines, runCli } from './run-cli.js';

const env = { SERVICE_PRIVATE_KEY: 'pri_x' };
const openssl = (body: string | Buffer, key = 'pri_x') => opensslHmac(body, key);

describe('sign', () => {
  test.each<[string, string | Buffer]>([
    ['JSON', '{"a":1}'],
    ['nothing', ''],
    ['a line break', '{"a":1}\n'],
    ['bytes that are no text', Buffer.from([0, 0xff, 0xfe, 0x80, 10, 13])],
    ['letters beyond ASCII', '{"name":"Zoë 支払い"}'],
    ['a megabyte', 'x'.repeat(1_048_576)],
  ])('prints what openssl prints for %s', async (_, body) => {
    const expected = openssl(body);
    const run = await runCli(['sign'], { env, stdin: body });
    expect(run).toEqual({ code: 0, stdout: `${expected}\n`, stderr: '' });
    const path = fileWith(body);
    expect((await runCli(['sign', '--body', `@${path}`], { env })).stdout).toBe(`${expected}\n`);
  });

  test('takes a body as text, too, and standard input as @-', async () => {
    expect((await runCli(['sign', '--body', '{"a":1}'], { env })).stdout).toBe(`${openssl('{"a":1}')}\n`);
    expect((await runCli(['sign', '--body', '@-'], { env, stdin: 'x' })).stdout).toBe(`${openssl('x')}\n`);
  });

  test('says so when a body as text is the name of a file', async () => {
    const path = fileWith('{}');
    const { code, stdout, stderr } = await runCli(['sign', '--body', path], { env });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${openssl(path)}\n` });
    expect(stderr).toContain(`To read the file, give @${path}`);
  });

  test('prints one JSON object with --json', async () => {
    const run = await runCli(['sign', '--json'], { env, stdin: 'x' });
    expect(jsonLines(run)).toEqual([{ signature: openssl('x') }]);
  });

  test.each(['pri_y', 'pri_y\n', 'pri_y\r\n', '\ufeffpri_y\n'])(
    'takes the key of a file before that of the environment, without the line break at its end',
    async (content) => {
      const { stdout } = await runCli(['sign', '--key-file', fileWith(content)], { env, stdin: 'x' });
      expect(stdout).toBe(`${openssl('x', 'pri_y')}\n`);
    },
  );

  // Keys and files that are refused: typed-names.test.ts.
  test('tells a person at a terminal that it waits for the body', async () => {
    const { stdout, stderr } = await runCli(['sign'], { env, stdin: 'x', tty: true });
    expect(stderr).toContain('Ctrl-D');
    expect(stdout).toBe(`${openssl('x')}\n`);
  });
});
