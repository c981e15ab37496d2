// Whether a contract notices: the source of a store is damaged in one place at a time, and each time a case must fail.
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { transformSync } from '@swc/core';

/** What the damage does, a text that stands in the sources exactly once, and what replaces it. */
export type Damage = readonly [does: string, find: string, replace: string];

interface Case {
  readonly name: string;
  run(): Promise<void>;
}

export interface Damaged<Create> {
  /** Paths below `src` without `.ts`, each after those that it imports. The last one exports the store. */
  readonly sources: readonly string[];
  readonly exported: string;
  /** What they import besides each other. */
  readonly modules: Readonly<Record<string, unknown>>;
  /** @param sleep passes the time that `now` tells */
  contract(create: Create, now: () => number, sleep: (ms: number) => Promise<void>): readonly Case[];
  /** How the message of a broken contract begins. */
  readonly complaint: RegExp;
  /** By the beginning of the name of the case that notices. */
  readonly damages: Readonly<Record<string, readonly Damage[]>>;
}

/** @returns the store of the sources as they are, and the names of the cases that a store breaks */
export function noticesEachDamage<Create>(damaged: Damaged<Create>) {
  const sources = damaged.sources.map((path) => ({
    name: `./${path.slice(path.lastIndexOf('/') + 1)}.js`,
    source: readFileSync(join(__dirname, `../../src/${path}.ts`), 'utf8'),
  }));

  function load(damage: (source: string) => string = (source) => source): Create {
    const modules: Record<string, unknown> = { ...damaged.modules };
    let exported: Record<string, unknown> = {};
    for (const { name, source } of sources) {
      const { code } = transformSync(damage(source), {
        jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
        module: { type: 'commonjs' },
      });
      exported = {};
      modules[name] = exported;
      const find = (imported: string) => modules[imported] ?? modules[`./${basename(imported)}`];
      new Function('require', 'exports', code)(find, exported);
    }
    const create = exported[damaged.exported];
    if (!create) throw new Error(`The sources export no ${damaged.exported}.`);
    return create as Create;
  }

  async function broken(create: Create): Promise<string[]> {
    let time = 1_700_000_000_000;
    const sleep = async (ms: number) => {
      time += ms;
    };
    const failed: string[] = [];
    for (const { name, run } of damaged.contract(create, () => time, sleep)) {
      await run().catch((error: Error) => {
        expect(error.message).toMatch(damaged.complaint);
        failed.push(name);
      });
    }
    return failed;
  }

  const known = new Map<Damage, Promise<string[]>>();
  const noticed = (damage: Damage): Promise<string[]> => {
    const [, find, replace] = damage;
    const names = known.get(damage) ?? broken(load((source) => source.replace(find, () => replace)));
    known.set(damage, names);
    return names;
  };

  test('is kept by the store as it is', async () => {
    expect(await broken(load())).toEqual([]);
  });

  describe.each(Object.entries(damaged.damages))('notices by "%s …" a store that', (by, damages) => {
    test.each(damages.map((damage) => [damage[0], damage] as const))('%s', async (_, damage) => {
      expect(sources.flatMap(({ source }) => source.split(damage[1]))).toHaveLength(sources.length + 1);
      expect((await noticed(damage)).map((name) => name.slice(0, by.length))).toContain(by);
    });
  });

  test('has no case that notices nothing', async () => {
    const all = await Promise.all(Object.values(damaged.damages).flat().map(noticed));
    const names = damaged.contract(load(), Date.now, async () => {}).map(({ name }) => name);
    expect(names.filter((name) => !all.flat().includes(name))).toEqual([]);
  });

  return { load, broken };
}
