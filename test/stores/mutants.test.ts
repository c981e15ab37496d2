// Whether the contract notices: the memory store is damaged in one place at a time, and each time a case must fail.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { transformSync } from '@swc/core';
import * as errors from '../../src/errors.js';
import * as linkedList from '../../src/linked-list.js';
import type { memoryStore } from '../../src/stores/memory.js';
import * as contract from '../../src/stores/store.js';
import { storeContract } from '../../src/testing/store-contract.js';
import * as unknownOption from '../../src/unknown-option.js';

interface Mutant {
  readonly name: string;
  /** How the name of a case begins that notices it. */
  readonly by: string;
  /** Stands in the source exactly once. */
  readonly find: string;
  readonly replace: string;
}

const TOKEN = 'entry.attempt === attempt && entry.list === list';
const COMPLETE = `if (!ownsIn(this.#running)) return false;
        this.#completed.append(entry);`;
const RELEASE = `entry.finished = [...now];
        this.#released.append(entry);`;

const MUTANTS: readonly Mutant[] = [
  {
    name: 'counts attempts from zero',
    by: 'the first claim of a key',
    find: 'attempt = 0;',
    replace: 'attempt = -1;',
  },
  {
    name: 'remembers for ever what was never completed',
    by: 'a key that was released or never completed',
    find: 'if (entry && entry.forgetAt <= now) {',
    replace: 'if (entry && entry.list === this.#completed && entry.forgetAt <= now) {',
  },
  {
    name: 'ignores the token',
    by: 'an owner that was replaced',
    find: TOKEN,
    replace: 'entry.list === list',
  },
  {
    name: 'ignores the token on complete',
    by: 'when a lapsed owner completes while another claims',
    find: COMPLETE,
    replace: 'if (entry.list !== this.#running) return false; this.#completed.append(entry);',
  },
  {
    name: 'lets a stale owner complete over what others did',
    by: 'an owner that has released or completed',
    find: COMPLETE,
    replace: 'this.#completed.append(entry);',
  },
  {
    name: 'keeps the old token on a takeover',
    by: 'an owner that was replaced',
    find: 'entry.attempt += 1;',
    replace: 'if (entry.list !== this.#running) entry.attempt += 1;',
  },
  {
    name: 'takes over a live lease',
    by: 'a key whose lease runs',
    find: 'entry && entry.leaseEnds > now',
    replace: 'entry && entry.leaseEnds < now',
  },
  {
    name: 'lets no lease lapse',
    by: 'attempt rises by one',
    find: 'entry && entry.leaseEnds > now',
    replace: 'entry?.list === this.#running',
  },
  {
    name: 'says that a lapsed lease is lost though nobody took it',
    by: 'an owner whose lease has lapsed may still',
    find: TOKEN,
    replace: `entry.leaseEnds > this.#now() && ${TOKEN}`,
  },
  {
    name: 'forgets after complete',
    by: 'a completed key stays completed',
    find: 'this.#completed.append(entry);',
    replace: 'this.#forget(entry);',
  },
  {
    name: 'does not remember whom a completed entry belongs to',
    by: 'a complete whose reply was lost',
    find: 'if (ownsIn(this.#completed)) return true;',
    replace: '',
  },
  {
    name: 'says true to whoever completes what is completed',
    by: 'an owner that was replaced',
    find: 'if (ownsIn(this.#completed)) return true;',
    replace: 'if (entry.list === this.#completed) return true;',
  },
  { name: 'deletes on release', by: 'attempt rises by one', find: RELEASE, replace: 'this.#forget(entry);' },
  {
    name: 'keeps the lease on release',
    by: 'an owner that has released or completed',
    find: RELEASE,
    replace: 'entry.finished = [...now];',
  },
  {
    name: 'keeps the finished handlers of an earlier release',
    by: 'finished handlers outlive',
    find: 'entry.finished = [...now];',
    replace: 'if (entry.finished.length === 0) entry.finished = [...now];',
  },
  {
    name: 'joins the finished handlers of all releases',
    by: 'finished handlers outlive',
    find: 'entry.finished = [...now];',
    replace: 'entry.finished = [...entry.finished, ...now];',
  },
  {
    name: 'drops the finished handlers',
    by: 'names of finished handlers',
    find: 'entry.finished = [...now];',
    replace: '',
  },
  {
    name: 'counts attempts anew after a release',
    by: 'of 24 who claim a released key',
    find: 'entry.attempt += 1;',
    replace: 'entry.attempt = entry.list === this.#released ? 1 : entry.attempt + 1;',
  },
  {
    name: 'counts an attempt for a claim that was refused',
    by: 'of 24 who claim a lapsed key',
    find: "return { status: 'in_progress', retryAfterMs: entry.leaseEnds - now };",
    replace: "entry.attempt += 1; return { status: 'in_progress', retryAfterMs: entry.leaseEnds - now };",
  },
  {
    name: 'returns the fingerprint of the duplicate',
    by: 'a completed key stays completed',
    find: "return { status: 'completed', fingerprint: entry.fingerprint };",
    replace: "return { status: 'completed', fingerprint };",
  },
  {
    name: 'keeps the fingerprint of the first claim',
    by: 'a completed key stays completed',
    find: 'entry.fingerprint = fingerprint;',
    replace: 'entry.fingerprint ||= fingerprint;',
  },
  {
    name: 'refuses other bytes than those of the claim that lapsed',
    by: 'a released key can be claimed at once',
    find: 'entry ??= this.#enter(key, now);',
    replace:
      "if (entry && entry.fingerprint !== fingerprint) return { status: 'in_progress', retryAfterMs: 1 }; entry ??= this.#enter(key, now);",
  },
  {
    name: 'does not write on renew',
    by: 'renew sets the end of the lease',
    find: 'this.#extend(entry, leaseMs, this.#now());\n        return true;',
    replace: 'return true;',
  },
  {
    name: 'adds to the lease on renew',
    by: 'renew sets the end of the lease',
    find: 'entry.leaseEnds = now + leaseMs;',
    replace: 'entry.leaseEnds = Math.max(entry.leaseEnds, now) + leaseMs;',
  },
  {
    name: 'never shortens a lease',
    by: 'renew sets the end of the lease',
    find: 'entry.leaseEnds = now + leaseMs;',
    replace: 'entry.leaseEnds = Math.max(entry.leaseEnds, now + leaseMs);',
  },
  {
    name: 'ignores the retention',
    by: 'a completed key is new once its retention is over',
    find: 'entry.forgetAt = now + Math.max(leaseMs, this.#retention);',
    replace: 'entry.forgetAt = Number.POSITIVE_INFINITY;',
  },
  {
    name: 'counts the retention from the first write',
    by: 'the retention counts from the last write',
    find: 'entry.forgetAt = now + Math.max(leaseMs, this.#retention);',
    replace: 'entry.forgetAt ||= now + Math.max(leaseMs, this.#retention);',
  },
  {
    name: 'forgets what is worked on when its retention is over',
    by: 'a key that is worked on is not forgotten',
    find: 'Math.max(leaseMs, this.#retention)',
    replace: 'this.#retention',
  },
  {
    name: 'takes ids that differ in case for one',
    by: 'ids that differ only in case',
    find: 'let entry = this.#entries.get(key);',
    replace: 'key = key.toLowerCase(); let entry = this.#entries.get(key);',
  },
  {
    name: 'reads the key, thinks, and then writes',
    by: 'of 24 who claim a new key',
    find: 'let entry = this.#entries.get(key);',
    replace: 'let entry = this.#entries.get(key); await null;',
  },
];

type MemoryStore = typeof memoryStore;

function load(source: string): MemoryStore {
  const { code } = transformSync(source, {
    jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
    module: { type: 'commonjs' },
  });
  const exported: { memoryStore?: MemoryStore } = {};
  new Function('require', 'exports', code)((name: string) => MODULES[name], exported);
  if (!exported.memoryStore) throw new Error('The source of the memory store exports none.');
  return exported.memoryStore;
}

/** The names of the cases that notice. */
async function broken(create: MemoryStore): Promise<string[]> {
  let time = 0;
  const cases = storeContract({
    create: ({ retention }) => create({ ...(retention === undefined ? {} : { retention }), now: () => time }),
    sleep: async (ms) => {
      time += ms;
    },
  });
  const failed: string[] = [];
  for (const { name, run } of cases) {
    await run().catch((error: Error) => {
      expect(error.message).toMatch(/^A promise was broken: /);
      failed.push(name);
    });
  }
  return failed;
}

const SOURCE = readFileSync(join(__dirname, '../../src/stores/memory.ts'), 'utf8');
const MODULES: Record<string, unknown> = {
  '../errors.js': errors,
  '../linked-list.js': linkedList,
  '../unknown-option.js': unknownOption,
  './store.js': contract,
};

describe('the store contract', () => {
  test('is kept by the memory store as it is', async () => {
    expect(await broken(load(SOURCE))).toEqual([]);
  });

  test.each(MUTANTS)('notices a store that $name', async ({ by, find, replace }) => {
    expect(SOURCE.split(find)).toHaveLength(2);
    const noticed = await broken(load(SOURCE.replace(find, () => replace)));
    expect(noticed).toContainEqual(expect.stringMatching(`^${by}`));
  });

  test('has no case that notices nothing', async () => {
    const noticed: string[] = [];
    for (const { find, replace } of MUTANTS)
      noticed.push(...(await broken(load(SOURCE.replace(find, () => replace)))));
    const names = storeContract({ create: () => load(SOURCE)() }).map(({ name }) => name);
    expect(names.filter((name) => !noticed.includes(name))).toEqual([]);
  });
});
