// The counterexamples that Spin prints for the bugs of the model, step by step in the real code.
import { expect, test } from '@jest/globals';
import { needing } from '../../setup/platform.js';
import { BUGS as MODEL_BUGS } from '../model/configurations.js';
import { bundleReceiver } from './load.js';
import { replaysOf, TRAILS, WITHOUT_COUNTERPART } from './replays.js';
import { replayTrail } from './trail.js';

needing('SQLite').describe('the counterexample to the bug of the model', () => {
  const names = Object.keys(MODEL_BUGS).filter((name) => !(name in WITHOUT_COUNTERPART));
  test.each(names)(
    '%s fails in the code with this bug at every step, and the code without it leaves it and holds',
    async (name) => {
      const replays = await replaysOf(name);
      expect(replays).not.toEqual([]);
      expect(replays).toEqual(replays.map((replay) => ({ ...replay, fails: true, holds: true })));
    },
    60_000,
  );

  test('is known for every bug', () => {
    expect(Object.keys(TRAILS)).toEqual(Object.keys(MODEL_BUGS));
  });
});

needing('SQLite').describe('a replay', () => {
  const lines = [
    'receiver A is given a delivery',
    'receiver A claims: granted',
    'receiver A starts the handlers',
    'receiver A: the handlers succeed',
    'receiver A completes the event',
    'receiver A answers 2xx',
  ];

  test('follows the code through a delivery without a fault', async () => {
    const trail = { defines: [], lines };
    expect(await replayTrail(await bundleReceiver(), 'memory', trail)).toEqual({
      departures: [],
      violations: [],
    });
  });

  test.each([
    [
      'the call fails',
      [...lines.slice(0, 1), 'receiver A: the call fails', 'receiver A claims: granted'],
      [3],
    ],
    ['a step is left out', lines.toSpliced(4, 1), [5]],
    ['a step comes too early', [lines[4] ?? '', ...lines], [1]],
  ])('names the steps that the code does not make when %s', async (_, changed, numbers) => {
    const { departures } = await replayTrail(await bundleReceiver(), 'memory', {
      defines: [],
      lines: changed,
    });
    expect(departures).toEqual(numbers.map((number) => `${number}: ${changed[number - 1]}`));
  });

  test('refuses a step of the model that it does not know', async () => {
    const trail = { defines: [], lines: ['receiver A: the handlers sing'] };
    await expect(replayTrail(await bundleReceiver(), 'memory', trail)).rejects.toThrow('the handlers sing');
  });
});
