// What each door weighs in a bundle, so that no import makes one heavier unnoticed.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { DoorBytes } from './setup/door-bytes.js';
import { node, ROOT } from './setup/shell.js';

const { exports: doors } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** Most bytes of each door, minified, without the packages it imports. Raise one on purpose, or find what got in. */
const MOST: Readonly<Record<string, number>> = {
  // A quarter of it keeps, lists and replays dead letters.
  '.': 125_000,
  // With the schemas, which the main door loads later.
  './verify': 23_000,
  './client': 28_500,
  './opentelemetry': 15_600,
  './queues': 71_000,
  './queues/bullmq': 73_000,
  './queues/pg-boss': 75_000,
  './ops': 43_000,
  // With what passes on a captured delivery, and compares it with the one before.
  './simulator': 82_000,
  // Half of each keeps and seals dead letters. The first has the engine of './stores/sql'.
  './stores/postgres': 48_000,
  './stores/redis': 24_500,
  // Two databases, and both events and letters in each.
  './stores/sql': 80_000,
  // Half of it is the two contracts. fakeOnce() has the memory store.
  './testing': 64_500,
};

let weighed: ReadonlyMap<string, DoorBytes>;

// In a process of its own: esbuild refuses the globals of Jest.
beforeAll(async () => {
  const names = Object.keys(MOST);
  const files = names.map((door) => join(ROOT, `src/${door === '.' ? 'index' : door}.ts`));
  const program = join(ROOT, 'test/setup/door-bytes.ts');
  const { stdout, stderr } = await node(['--import', 'tsx', program, ...files]);
  expect(stderr).toBe('');
  const all: DoorBytes[] = JSON.parse(stdout);
  weighed = new Map(names.map((door, index) => [door, all[index] as DoorBytes]));
});

describe('a door', () => {
  test('has a budget here, each of them', () => {
    expect(Object.keys(MOST).sort()).toEqual(
      Object.keys(doors)
        .filter((door) => door !== './package.json')
        .sort(),
    );
  });

  test.each(Object.entries(MOST))('%s takes no more than %i bytes', (door, most) => {
    const { all = Number.NaN } = weighed.get(door) ?? {};
    expect(all).toBeLessThanOrEqual(most);
    // A budget far above what it is for notices nothing.
    expect(all).toBeGreaterThan(most * 0.8);
  });

  test('of receivers loads what manages dead letters only when it is asked for', () => {
    const { loaded = Number.NaN, all = Number.NaN } = weighed.get('.') ?? {};
    // As much as before there was `hooks.fetch`, the names as signed, what letters name of their key, what to do about mistakes,
    // what handlers say, when letters retry themselves, which texts are no keys, what an inbox stands for,
    // and what a redrive leaves to others.
    expect(loaded).toBeLessThanOrEqual(76_209 + 35_200);
    expect(all - loaded).toBeGreaterThan(5_000);
  });
});
