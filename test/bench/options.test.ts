// What is typed after `npm run bench --`: what it comes to, and what is said about mistakes.
import { describe, expect, test } from '@jest/globals';
import { commandToContinue, receiverHelp, storeHelp } from './help.js';
import { RECEIVER_OPTIONS, receiverOptions, storeOptions, UsageError } from './options.js';

const PROFILES = ['accept', 'reject'];
const read = (...args: string[]) => receiverOptions(args, PROFILES);

test('without an option there are eight epochs or more of everything, and less than nine minutes', () => {
  const options = read();
  expect(options).toMatchObject({ profiles: [], contestants: [], fresh: false, gate: false, ab: undefined });
  expect(options.epochs).toBeGreaterThanOrEqual(8);
  expect(options.minutes).toBeLessThan(9);
  expect(options.node).toBe(process.execPath);
});

test('every option has its say', () => {
  const args =
    '--profile accept --profile reject --epochs 2 --rounds 3 --minutes 0.5 --fresh --ab HEAD --node /n';
  expect(read(...args.split(' '))).toEqual({
    profiles: ['accept', 'reject'],
    contestants: [],
    epochs: 2,
    rounds: 3,
    minutes: 0.5,
    fresh: true,
    gate: false,
    help: false,
    ab: 'HEAD',
    node: '/n',
  });
});

describe('a mistake is answered with what can be typed:', () => {
  test.each([
    [['--epoch', '3'], 'Unknown option --epoch. The options are --profile, --epochs, --rounds, '],
    [['--profile', 'acept'], '--profile: there is no "acept". The profiles are accept, reject.'],
    [['--epochs', 'many'], '--epochs must be a number above 0; it is "many".'],
    [['--epochs', '1.5'], '--epochs must be a whole number; it is "1.5".'],
    [['--rounds', '0'], '--rounds must be a number above 0; it is "0".'],
    [['--minutes'], 'The options are --profile, '],
    [['accept'], 'The options are --profile, '],
    [
      ['--ab', 'HEAD', '--gate'],
      '--gate needs every contestant of one build. Leave out --ab and --contestant.',
    ],
    [['--contestant', 'ours', '--gate'], 'Leave out --ab and --contestant.'],
  ])('%j', (args, message) => {
    expect(() => read(...args)).toThrow(UsageError);
    expect(() => read(...args)).toThrow(message);
  });

  test('stores have no builds to compare', () => {
    expect(() => storeOptions(['--ab', 'HEAD'], ['redis'])).toThrow(
      'Unknown option --ab. The options are --profile, ',
    );
  });
});

test('the help names every option, and its examples are right', () => {
  const help = receiverHelp(PROFILES);
  for (const name of Object.keys(RECEIVER_OPTIONS)) expect(help).toContain(`  --${name} `);
  const examples = [...help.matchAll(/^ {2}npm run bench -- (.*)$/gm)].map(([, args = '']) => args);
  expect(examples.length).toBeGreaterThan(2);
  for (const args of examples)
    expect(() => read(...args.replace(/"\$\(.*\)"/, 'node').split(' '))).not.toThrow();
  expect(storeHelp(['redis'])).not.toContain('--ab');
});

test('the command that continues a run does not start over', () => {
  expect(commandToContinue('bench', [])).toBe('npm run bench');
  expect(commandToContinue('bench', ['--fresh', '--ab', 'HEAD~1'])).toBe('npm run bench -- --ab HEAD~1');
  expect(commandToContinue('bench', ['--node', '/a b/node'])).toBe("npm run bench -- --node '/a b/node'");
});
