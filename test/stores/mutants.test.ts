// Whether the contract notices: the memory store is damaged in one place at a time, and each time a case must fail.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { transformSync } from '@swc/core';
import * as errors from '../../src/errors.js';
import * as duration from '../../src/options/duration.js';
import * as completedIds from '../../src/stores/memory/completed-ids.js';
import * as keyTable from '../../src/stores/memory/key-table.js';
import * as linkedList from '../../src/stores/memory/linked-list.js';
import type { memoryStore } from '../../src/stores/memory.js';
import { storeContract } from '../../src/testing/store-contract.js';

interface Mutant {
  readonly name: string;
  /** How the name of a case begins that notices it. */
  readonly by: string;
  /** Stands in the source exactly once. */
  readonly find: string;
  readonly replace: string;
}

const SOURCE = readFileSync(join(__dirname, '../../src/stores/memory.ts'), 'utf8');

/** From the signature of `claim` to where it reads the latest claim of the key. */
const READ = /claim\(key: string.*?let latest = this\.#latest\.get\(row\);/s.exec(SOURCE)?.[0] ?? '';
const RUNNING = 'if (claim.list !== this.#running) return false;';
const COMPLETE = `${RUNNING}
    this.#running.remove(claim);`;
const RELEASE = `claim.finished = [...finished];
    this.#released.append(claim);`;
const RELEASE_TURN = `if (claim.list === this.#turns) {
      this.#forget(claim);
      return true;`;
const RENEW = 'return claim.list === this.#running && this.#extend(claim, leaseMs, this.#now());';
const TAKEOVER = 'if (latest) this.#forget(latest);';
const AGAIN = 'if (serial !== undefined) return this.#latest.get(row) === serial;';

const MUTANTS: readonly Mutant[] = [
  {
    name: 'counts attempts from zero',
    by: 'the first claim of a key',
    find: 'latest.attempt + 1 : 1',
    replace: 'latest.attempt + 1 : 0',
  },
  {
    name: 'remembers for ever what was never completed',
    by: 'a key that was released or never completed',
    find: 'if (latest && latest.forgetAt <= now) {',
    replace: 'if (latest && latest.forgetAt <= now - 1e9) {',
  },
  {
    name: 'leaves a claim its event when another takes it over',
    by: 'an owner that was replaced',
    find: TAKEOVER,
    replace: 'if (latest) this.#latest.delete(row, latest);',
  },
  {
    name: 'ignores the token on complete',
    by: 'when a lapsed owner completes while another claims',
    find: COMPLETE,
    replace:
      'const owner = this.#latest.get(row); if (typeof owner !== "object") return false; owner.list?.remove(owner);',
  },
  {
    name: 'lets a stale owner complete over what others did',
    by: 'an owner that has released or completed',
    find: COMPLETE,
    replace:
      'const owner = this.#latest.get(row); const had = typeof owner === "object" ? owner : claim; had.list?.remove(had);',
  },
  {
    name: 'ignores the token on release',
    by: 'an owner that was replaced',
    find: `${RUNNING}
    ${RELEASE}`,
    replace:
      'const owner = this.#latest.get(claim.row); if (typeof owner === "object") claim = owner; claim.finished = [...finished]; this.#released.append(claim);',
  },
  {
    name: 'lets a stale owner renew what another has',
    by: 'an owner that was replaced',
    find: RENEW,
    replace:
      'const owner = this.#latest.get(claim.row); return typeof owner === "object" && this.#extend(owner, leaseMs, this.#now());',
  },
  {
    name: 'keeps the attempt on a takeover',
    by: 'attempt rises by one',
    find: 'latest.attempt + 1 : 1',
    replace: 'latest.attempt : 1',
  },
  {
    name: 'takes over a live lease',
    by: 'a key whose lease runs',
    find: 'latest && latest.leaseEnds > now',
    replace: 'latest && latest.leaseEnds < now',
  },
  {
    name: 'lets no lease lapse',
    by: 'attempt rises by one',
    find: 'latest && latest.leaseEnds > now',
    replace: 'latest?.list === this.#running',
  },
  {
    name: 'says that a lapsed lease is lost though nobody took it',
    by: 'an owner whose lease has lapsed may still',
    find: RENEW,
    replace:
      'return claim.list === this.#running && claim.leaseEnds > this.#now() && this.#extend(claim, leaseMs, this.#now());',
  },
  {
    name: 'forgets after complete',
    by: 'a completed key stays completed',
    find: 'claim.serial = this.#completed.add(row, fingerprint, this.#now() + this.#retention);',
    replace: '',
  },
  {
    name: 'does not remember whom a completed entry belongs to',
    by: 'a complete whose reply was lost',
    find: AGAIN,
    replace: '',
  },
  {
    name: 'says true to whoever completes what is completed',
    by: 'an owner that was replaced',
    find: AGAIN,
    replace: 'if (typeof this.#latest.get(row) === "number") return true;',
  },
  {
    name: 'deletes on release',
    by: 'attempt rises by one',
    find: RELEASE,
    replace: 'this.#forget(claim); return true;',
  },
  {
    name: 'keeps the lease on release',
    by: 'an owner that has released or completed',
    find: RELEASE,
    replace: 'claim.finished = [...finished];',
  },
  {
    name: 'keeps the finished handlers of an earlier release',
    by: 'finished handlers outlive',
    find: 'claim.finished = [...finished];',
    replace: 'if (claim.finished.length === 0) claim.finished = [...finished];',
  },
  {
    name: 'joins the finished handlers of all releases',
    by: 'finished handlers outlive',
    find: 'claim.finished = [...finished];',
    replace: 'claim.finished = [...claim.finished, ...finished];',
  },
  {
    name: 'drops the finished handlers',
    by: 'names of finished handlers',
    find: 'claim.finished = [...finished];',
    replace: '',
  },
  {
    name: 'counts attempts anew after a release',
    by: 'of 24 who claim a released key',
    find: TAKEOVER,
    replace:
      'if (latest?.list === this.#released) { this.#forget(latest); latest = undefined; } else if (latest) this.#forget(latest);',
  },
  {
    name: 'counts an attempt for a claim that was refused',
    by: 'of 24 who claim a lapsed key',
    find: "return { status: 'in_progress', retryAfterMs: latest.leaseEnds - now };",
    replace:
      "{ Object.assign(latest, { attempt: latest.attempt + 1 }); return { status: 'in_progress', retryAfterMs: latest.leaseEnds - now }; }",
  },
  {
    name: 'returns the fingerprint of the duplicate',
    by: 'a completed key stays completed',
    find: "return { status: 'completed', fingerprint: this.#completed.fingerprintOf(latest) };",
    replace: "return { status: 'completed', fingerprint };",
  },
  {
    name: 'keeps the fingerprint of the first claim',
    by: 'a completed key stays completed',
    find: 'this.fingerprint = fingerprint;',
    replace: 'this.fingerprint = latest?.fingerprint ?? fingerprint;',
  },
  {
    name: 'refuses other bytes than those of the claim that lapsed',
    by: 'a released key can be claimed at once',
    find: TAKEOVER,
    replace: `if (latest && latest.fingerprint !== fingerprint) return { status: 'in_progress', retryAfterMs: 1 }; ${TAKEOVER}`,
  },
  {
    name: 'does not write on renew',
    by: 'renew sets the end of the lease',
    find: RENEW,
    replace: 'return claim.list === this.#running;',
  },
  {
    name: 'adds to the lease on renew',
    by: 'renew sets the end of the lease',
    find: 'claim.leaseEnds = now + leaseMs;',
    replace: 'claim.leaseEnds = Math.max(claim.leaseEnds, now) + leaseMs;',
  },
  {
    name: 'never shortens a lease',
    by: 'renew sets the end of the lease',
    find: 'claim.leaseEnds = now + leaseMs;',
    replace: 'claim.leaseEnds = Math.max(claim.leaseEnds, now + leaseMs);',
  },
  {
    name: 'ignores the retention of what is completed',
    by: 'a completed key is new once its retention is over',
    find: 'this.#now() + this.#retention',
    replace: 'Number.POSITIVE_INFINITY',
  },
  {
    name: 'counts the retention of what is completed from its claim',
    by: 'the retention counts from the last write',
    find: 'this.#now() + this.#retention',
    replace: 'claim.forgetAt',
  },
  {
    name: 'ignores the retention of what is released',
    by: 'a key that was released or never completed',
    find: 'claim.forgetAt = now + Math.max(leaseMs, this.#retention);',
    replace: 'claim.forgetAt = Number.POSITIVE_INFINITY;',
  },
  {
    name: 'counts the retention from the first write',
    by: 'the retention counts from the last write',
    find: 'claim.forgetAt = now + Math.max(leaseMs, this.#retention);',
    replace: 'claim.forgetAt ||= now + Math.max(leaseMs, this.#retention);',
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
    find: 'const now = this.#now();\n    this.#forgetExpired(now);',
    replace: 'key = key.toLowerCase(); const now = this.#now();',
  },
  {
    name: 'reads the key, thinks, and then writes',
    by: 'of 24 who claim a new key',
    find: READ,
    replace: `async ${READ.replace(': ClaimResult', '')} await null;`,
  },
  {
    name: 'keeps a turn that was released',
    by: 'a turn has one owner',
    find: RELEASE_TURN,
    replace: 'if (claim.list === this.#turns) {\n      return true;',
  },
  {
    name: 'lets a stale owner renew a turn that another has',
    by: 'a turn whose owner is gone',
    find: 'if (claim.list === this.#turns) return this.#extend(claim, leaseMs, this.#now());',
    replace: 'if (claim.list !== this.#running) return this.#extend(claim, leaseMs, this.#now());',
  },
  {
    name: 'rolls turns back with an event',
    by: 'a turn is no part of a transaction',
    find: `${RUNNING}
    ${RELEASE}`,
    replace: `${RUNNING} while (this.#turns.first) this.#forget(this.#turns.first); ${RELEASE}`,
  },
  {
    name: 'begins anew when it is asked whether it is well',
    by: 'ping claims nothing and forgets nothing',
    find: READ,
    replace: `ping() { while (this.#completed.forgetOldest()); } ${READ}`,
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
      expect(error.message).toMatch(/^The store breaks its contract: /);
      failed.push(name);
    });
  }
  return failed;
}

const MODULES: Record<string, unknown> = {
  '../errors.js': errors,
  './memory/key-table.js': keyTable,
  './memory/linked-list.js': linkedList,
  '../options/duration.js': duration,
  './memory/completed-ids.js': completedIds,
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
