// Holds docs/simulator.md to what the simulator is made of, and to what it does.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readSources } from '../setup/sources.js';

const ROOT = join(__dirname, '../..');
const page = readFileSync(join(ROOT, 'docs/simulator.md'), 'utf8');

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
  const [, paragraph = ''] = /\nIt shares no station([\s\S]*?)\n\n/.exec(page) ?? [];
  const named = [...paragraph.matchAll(/`([\w-]+)(?:\.ts|\/)`/g)].map(([, name]) => name);
  expect(named.sort()).toEqual([...new Set(shared.map((path) => path.split('/')[0]))].sort());
});
