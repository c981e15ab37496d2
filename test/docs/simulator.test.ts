// Holds the docs to what the simulator is made of, and to when it retries.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { retryPauses } from '../../src/tools/simulator/delivery/retry-schedule.js';
import { seeds } from '../../src/tools/simulator/seeds.js';
import { readSources } from '../setup/sources.js';

const ROOT = join(__dirname, '../..');
const page = readFileSync(join(ROOT, 'docs/project/decisions.md'), 'utf8');

/** The files that are loaded with these ones. Types leave nothing behind, so they do not count. */
function loadedWith(isFirst: (path: string) => boolean): Set<string> {
  const sources = new Map(readSources(join(ROOT, 'src')).map((source) => [source.path, source]));
  const loaded = new Set<string>();
  const load = (path: string): void => {
    if (loaded.has(path)) return;
    loaded.add(path);
    for (const { ours, typeOnly, from } of sources.get(path)?.imports ?? [])
      if (ours && !typeOnly) load(from);
  };
  for (const path of [...sources.keys()].filter(isFirst)) load(path);
  return loaded;
}

test('names the files that the simulator shares with the receiver', () => {
  const receiver = loadedWith((path) => path === 'receiver');
  const shared = [...loadedWith((path) => path.startsWith('simulator'))].filter((path) => receiver.has(path));
  const [, paragraph = ''] = / It shares no station([\s\S]*?)\n\n/.exec(page) ?? [];
  const named = [...paragraph.matchAll(/`([\w-]+)(?:\.ts|\/)`/g)].map(([, name]) => name);
  expect(named.sort()).toEqual([...new Set(shared.map((path) => path.split('/')[0]))].sort());
});

const seconds = retryPauses('fast').map((ms) => ms / 1_000);
const [inDocs, inHelp] = [seconds.map((pause) => `${pause} s`).join(', '), `fast (${seconds.join('s,')}s)`];

test.each([
  ['docs/simulator.md', `\`'fast'\`: ${inDocs} after each failure`],
  ['docs/what-is-documented.md', `${inDocs} after the failure before`],
  ['src/tools/simulator/settings.ts', `@default 'fast': ${inDocs} */`],
  // From there it comes into the help.
  ['src/tools/cli/simulate.ts', `Delays before retries: ${inHelp},`],
])('%s names the retry delays of the simulator', (file, text) => {
  expect(readFileSync(join(ROOT, file), 'utf8')).toContain(text);
});

test('docs/simulator.md says what each seeded key and token gets', () => {
  const guide = readFileSync(join(ROOT, 'docs/simulator.md'), 'utf8');
  const rows = [
    ...seeds.keys.map(({ key, shows }) => `| \`${key}\` | ${shows} |`),
    ...seeds.tokens.map(({ token, shows }) => `| \`${token}\` | ${shows} |`),
  ];
  expect(rows).toHaveLength(7);
  expect(rows.filter((row) => !guide.includes(row))).toEqual([]);
});
