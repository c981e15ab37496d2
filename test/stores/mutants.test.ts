// Whether the contract notices: the memory store is damaged in one place at a time, and each time a case must fail.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { transformSync } from '@swc/core';
import * as errors from '../../src/errors.js';
import * as duration from '../../src/options/duration.js';
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

/** From the signature of `claim` to where it has read the latest claim of the key. */
const READ = /claim\(key: string.*?: undefined;\n/s.exec(SOURCE)?.[0] ?? '';
const GRANT = 'const claim = new MemoryClaim(this, key, fingerprint, latest);';
const OWNS = 'this.#find(claim.key) === claim && ';
const RELEASE = `if (!this.#end(claim, 'released')) return false;
    claim.finished = [...finished];`;
const RENEW = `if (!this.#owns(claim)) return false;
    // It may`;
const AGAIN = "if (claim.state === 'completed') return this.#find(claim.key) === claim;";
const IN_PROGRESS = "return { status: 'in_progress', retryAfterMs: latest.leaseEnds - now };";
const OWNER = 'const owner = this.#find(claim.key); if (owner?.state === "running") claim = owner;';

const LOCK = /lock\(key: string.*?held = locks\.get\(key\);\n/s.exec(SOURCE)?.[0] ?? '';
const HELD = 'if (held && held.leaseEnds > now) return undefined;';
const UNLOCK = 'release: () => locks.get(key) === lock && locks.delete(key),';

const KNOWN =
  "return found?.state === 'completed' && found.forgetAt > this.#now() ? found.fingerprint : undefined;";

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
    find: 'found && found.forgetAt > now ?',
    replace: 'found && (found.forgetAt > now || found.state !== "completed") ?',
  },
  {
    name: 'leaves a claim its event when another takes it over',
    by: 'an owner that was replaced',
    find: OWNS,
    replace: '',
  },
  {
    name: 'ignores the token on complete',
    by: 'when a lapsed owner completes while another claims',
    find: "return this.#end(claim, 'completed');",
    replace: `${OWNER} return this.#end(claim, 'completed');`,
  },
  {
    name: 'lets a stale owner complete over what others did',
    by: 'an owner that has released or completed',
    find: "return this.#end(claim, 'completed');",
    replace:
      "this.#remember(claim, this.#now()); claim.state = 'running'; return this.#end(claim, 'completed');",
  },
  {
    name: 'ignores the token on release',
    by: 'an owner that was replaced',
    find: RELEASE,
    replace: `${OWNER} ${RELEASE}`,
  },
  {
    name: 'lets a stale owner renew what another has',
    by: 'an owner that was replaced',
    find: RENEW,
    replace: `${OWNER} ${RENEW}`,
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
    replace: "latest?.state === 'running'",
  },
  {
    name: 'says that a lapsed lease is lost though nobody took it',
    by: 'an owner whose lease has lapsed may still',
    find: RENEW,
    replace: `if (claim.leaseEnds <= this.#now()) return false; ${RENEW}`,
  },
  {
    name: 'forgets after complete',
    by: 'a completed key stays completed',
    find: "return this.#end(claim, 'completed');",
    replace: "return this.#end(claim, 'completed') && this.#young.delete(claim.key);",
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
    replace: 'if (this.#find(claim.key)?.state === "completed") return true;',
  },
  {
    name: 'deletes on release',
    by: 'attempt rises by one',
    find: RELEASE,
    replace: "if (!this.#end(claim, 'released')) return false; this.#forget(claim.key);",
  },
  {
    name: 'keeps the lease on release',
    by: 'an owner that has released or completed',
    find: RELEASE,
    replace: 'if (!this.#owns(claim)) return false; claim.finished = [...finished];',
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
    find: 'found && found.forgetAt > now ?',
    replace: 'found && found.forgetAt > now && found.state !== "released" ?',
  },
  {
    name: 'counts an attempt for a claim that was refused',
    by: 'of 24 who claim a lapsed key',
    find: IN_PROGRESS,
    replace: `{ Object.assign(latest, { attempt: latest.attempt + 1 }); ${IN_PROGRESS} }`,
  },
  {
    name: 'returns the fingerprint of the duplicate',
    by: 'a completed key stays completed',
    find: "return { status: 'completed', fingerprint: latest.fingerprint };",
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
    find: GRANT,
    replace: `if (latest && latest.fingerprint !== fingerprint) return { status: 'in_progress', retryAfterMs: 1 }; ${GRANT}`,
  },
  {
    name: 'does not write on renew',
    by: 'renew sets the end of the lease',
    find: RENEW,
    replace: `return this.#owns(claim); // It may`,
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
    find: 'found && found.forgetAt > now ?',
    replace: 'found && (found.forgetAt > now || found.state === "completed") ?',
  },
  {
    name: 'counts the retention of what is completed from its claim',
    by: 'the retention counts from the last write',
    find: 'this.#extend(claim, 0, now);\n    this.#remember',
    replace: 'if (state !== "completed") this.#extend(claim, 0, now);\n    this.#remember',
  },
  {
    name: 'ignores the retention of what is released',
    by: 'a key that was released or never completed',
    find: 'found && found.forgetAt > now ?',
    replace: 'found && (found.forgetAt > now || found.state === "released") ?',
  },
  {
    name: 'counts the retention from the first write',
    by: 'the retention counts from the last write',
    find: 'claim.forgetAt = now + Math.max(leaseMs, this.retentionMs);',
    replace: 'claim.forgetAt ||= now + Math.max(leaseMs, this.retentionMs);',
  },
  {
    name: 'forgets what is worked on when its retention is over',
    by: 'a key that is worked on is not forgotten',
    find: 'Math.max(leaseMs, this.retentionMs)',
    replace: 'this.retentionMs',
  },
  {
    name: 'takes ids that differ in case for one',
    by: 'ids that differ only in case',
    find: READ,
    replace: `${READ.replace('const now', 'key = key.toLowerCase(); const now')}`,
  },
  {
    name: 'reads the key, thinks, and then writes',
    by: 'of 24 who claim a new key',
    find: READ,
    replace: `async ${READ.replace(': ClaimResult', '')} await null;`,
  },
  {
    name: 'keeps a lock that was released',
    by: 'a lock has one owner',
    find: UNLOCK,
    replace: 'release: () => locks.get(key) === lock,',
  },
  {
    name: 'gives a lock to everybody',
    by: 'a lock has one owner',
    find: HELD,
    replace: '',
  },
  {
    name: 'reads the lock, thinks, and then writes',
    by: 'of 24 who ask for a lock',
    find: LOCK,
    replace: `async ${LOCK.replace(': Lock | undefined', '')} await null;`,
  },
  {
    name: 'lets no lock lapse',
    by: 'a lock whose owner is gone',
    find: HELD,
    replace: 'if (held) return undefined;',
  },
  {
    name: 'lets a stale owner renew a lock that another has',
    by: 'a lock whose owner is gone',
    find: 'if (locks.get(key) !== lock) return false;',
    replace: '',
  },
  {
    name: 'lets a stale owner release a lock that another has',
    by: 'a lock whose owner is gone',
    find: UNLOCK,
    replace: 'release: () => locks.delete(key),',
  },
  {
    name: 'does not write when a lock is renewed',
    by: 'renewing a lock',
    find: 'lock.leaseEnds = this.#now() + ms;',
    replace: '',
  },
  {
    name: 'never shortens the lease of a lock',
    by: 'renewing a lock',
    find: 'lock.leaseEnds = this.#now() + ms;',
    replace: 'lock.leaseEnds = Math.max(lock.leaseEnds, this.#now() + ms);',
  },
  {
    name: 'rolls locks back with an event',
    by: 'a lock is no part of a transaction',
    find: RELEASE,
    replace: `${RELEASE} this.#locks.clear();`,
  },
  {
    name: 'knows a key as completed while it is worked on',
    by: 'completedWith gives the fingerprint',
    find: KNOWN,
    replace: KNOWN.replace("found?.state === 'completed'", 'found'),
  },
  {
    name: 'knows a key by another that differs in case',
    by: 'completedWith gives the fingerprint',
    find: KNOWN,
    replace: KNOWN.replaceAll('found', 'this.#find(key.toLowerCase())'),
  },
  {
    name: 'knows as completed what its retention has forgotten',
    by: 'a completed key is new once its retention is over',
    find: KNOWN,
    replace: KNOWN.replace(' && found.forgetAt > this.#now()', ''),
  },
  {
    name: 'claims a key to know whether it is completed',
    by: 'completedWith changes nothing',
    find: KNOWN,
    replace: `const { status, claim, ...rest } = this.claim(key, { leaseMs: 1, fingerprint: '' }); claim?.release(claim.finished); return rest.fingerprint;`,
  },
  {
    name: 'begins anew when it is asked whether it is well',
    by: 'ping claims nothing and forgets nothing',
    find: READ,
    replace: `ping() { this.#young.clear(); } ${READ}`,
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
  '../options/duration.js': duration,
};

describe('the store contract', () => {
  test('is kept by the memory store as it is', async () => {
    expect(await broken(load(SOURCE))).toEqual([]);
  });

  test('is kept by a store that lacks all it may lack', async () => {
    const create = (...options: Parameters<MemoryStore>) => {
      const store = load(SOURCE)(...options);
      return { claim: store.claim.bind(store) } as ReturnType<MemoryStore>;
    };
    expect(await broken(create)).toEqual([]);
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
