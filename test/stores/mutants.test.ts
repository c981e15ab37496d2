// Whether the contract notices: the memory store is damaged in one place at a time, and each time a case must fail.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { transformSync } from '@swc/core';
import * as errors from '../../src/errors.js';
import * as duration from '../../src/options/duration.js';
import type { memoryStore } from '../../src/stores/memory.js';
import { storeContract } from '../../src/testing/store-contract.js';

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
const COMPLETE = "return this.#end(claim, 'completed');";
const REMEMBERED = 'found && found.forgetAt > now ?';
const FINISHED = 'claim.finished = [...finished];';
const LEASE = 'claim.leaseEnds = now + leaseMs;';
const LOCK_LEASE = 'lock.leaseEnds = this.#now() + ms;';
const TAKEN = 'latest && latest.leaseEnds > now';
const NEXT_ATTEMPT = 'latest.attempt + 1 : 1';
const OWNER = 'const owner = this.#find(claim.key); if (owner?.state === "running") claim = owner;';

const LOCK = /lock\(key: string.*?held = locks\.get\(key\);\n/s.exec(SOURCE)?.[0] ?? '';
const HELD = 'if (held && held.leaseEnds > now) return undefined;';
const UNLOCK = 'release: () => locks.get(key) === lock && locks.delete(key),';

const KNOWN =
  "return found?.state === 'completed' && found.forgetAt > this.#now() ? found.fingerprint : undefined;";

/** What the damage does, a text that stands in the source exactly once, and what replaces it. */
type Damage = readonly [does: string, find: string, replace: string];

/** By the beginning of the name of the case that notices. */
const MUTANTS: Readonly<Record<string, readonly Damage[]>> = {
  'the first claim of a key': [['counts attempts from zero', NEXT_ATTEMPT, 'latest.attempt + 1 : 0']],
  'a key that was released or never completed': [
    [
      'remembers for ever what was never completed',
      REMEMBERED,
      'found && (found.forgetAt > now || found.state !== "completed") ?',
    ],
    [
      'ignores the retention of what is released',
      REMEMBERED,
      'found && (found.forgetAt > now || found.state === "released") ?',
    ],
  ],
  'an owner that was replaced': [
    ['leaves a claim its event when another takes it over', OWNS, ''],
    ['ignores the token on release', RELEASE, `${OWNER} ${RELEASE}`],
    ['lets a stale owner renew what another has', RENEW, `${OWNER} ${RENEW}`],
    [
      'says true to whoever completes what is completed',
      AGAIN,
      'if (this.#find(claim.key)?.state === "completed") return true;',
    ],
  ],
  'when a lapsed owner completes while another claims': [
    ['ignores the token on complete', COMPLETE, `${OWNER} return this.#end(claim, 'completed');`],
  ],
  'an owner that has released or completed': [
    [
      'lets a stale owner complete over what others did',
      COMPLETE,
      "this.#remember(claim, this.#now()); claim.state = 'running'; return this.#end(claim, 'completed');",
    ],
    [
      'keeps the lease on release',
      RELEASE,
      'if (!this.#owns(claim)) return false; claim.finished = [...finished];',
    ],
  ],
  'attempt rises by one': [
    ['keeps the attempt on a takeover', NEXT_ATTEMPT, 'latest.attempt : 1'],
    ['lets no lease lapse', TAKEN, "latest?.state === 'running'"],
    [
      'deletes on release',
      RELEASE,
      "if (!this.#end(claim, 'released')) return false; this.#forget(claim.key);",
    ],
  ],
  'a key whose lease runs': [['takes over a live lease', TAKEN, 'latest && latest.leaseEnds < now']],
  'an owner whose lease has lapsed may still': [
    [
      'says that a lapsed lease is lost though nobody took it',
      RENEW,
      `if (claim.leaseEnds <= this.#now()) return false; ${RENEW}`,
    ],
  ],
  'a completed key stays completed': [
    [
      'forgets after complete',
      COMPLETE,
      "return this.#end(claim, 'completed') && this.#young.delete(claim.key);",
    ],
    [
      'returns the fingerprint of the duplicate',
      "return { status: 'completed', fingerprint: latest.fingerprint };",
      "return { status: 'completed', fingerprint };",
    ],
    [
      'keeps the fingerprint of the first claim',
      'this.fingerprint = fingerprint;',
      'this.fingerprint = latest?.fingerprint ?? fingerprint;',
    ],
  ],
  'a complete whose reply was lost': [['does not remember whom a completed entry belongs to', AGAIN, '']],
  'finished handlers outlive': [
    [
      'keeps the finished handlers of an earlier release',
      FINISHED,
      'if (claim.finished.length === 0) claim.finished = [...finished];',
    ],
    [
      'joins the finished handlers of all releases',
      FINISHED,
      'claim.finished = [...claim.finished, ...finished];',
    ],
  ],
  'names of finished handlers': [['drops the finished handlers', FINISHED, '']],
  'of 24 who claim a released key': [
    [
      'counts attempts anew after a release',
      REMEMBERED,
      'found && found.forgetAt > now && found.state !== "released" ?',
    ],
  ],
  'of 24 who claim a lapsed key': [
    [
      'counts an attempt for a claim that was refused',
      IN_PROGRESS,
      `{ Object.assign(latest, { attempt: latest.attempt + 1 }); ${IN_PROGRESS} }`,
    ],
  ],
  'a released key can be claimed at once': [
    [
      'refuses other bytes than those of the claim that lapsed',
      GRANT,
      `if (latest && latest.fingerprint !== fingerprint) return { status: 'in_progress', retryAfterMs: 1 }; ${GRANT}`,
    ],
  ],
  'renew sets the end of the lease': [
    ['does not write on renew', RENEW, `return this.#owns(claim); // It may`],
    ['adds to the lease on renew', LEASE, 'claim.leaseEnds = Math.max(claim.leaseEnds, now) + leaseMs;'],
    ['never shortens a lease', LEASE, 'claim.leaseEnds = Math.max(claim.leaseEnds, now + leaseMs);'],
  ],
  'a completed key is new once its retention is over': [
    [
      'ignores the retention of what is completed',
      REMEMBERED,
      'found && (found.forgetAt > now || found.state === "completed") ?',
    ],
    [
      'knows as completed what its retention has forgotten',
      KNOWN,
      KNOWN.replace(' && found.forgetAt > this.#now()', ''),
    ],
  ],
  'the retention counts from the last write': [
    [
      'counts the retention of what is completed from its claim',
      'this.#extend(claim, 0, now);\n    this.#remember',
      'if (state !== "completed") this.#extend(claim, 0, now);\n    this.#remember',
    ],
    [
      'counts the retention from the first write',
      'claim.forgetAt = now + Math.max(leaseMs, this.retentionMs);',
      'claim.forgetAt ||= now + Math.max(leaseMs, this.retentionMs);',
    ],
  ],
  'a key that is worked on is not forgotten': [
    [
      'forgets what is worked on when its retention is over',
      'Math.max(leaseMs, this.retentionMs)',
      'this.retentionMs',
    ],
  ],
  'ids that differ only in case': [
    [
      'takes ids that differ in case for one',
      READ,
      `${READ.replace('const now', 'key = key.toLowerCase(); const now')}`,
    ],
  ],
  'of 24 who claim a new key': [
    [
      'reads the key, thinks, and then writes',
      READ,
      `async ${READ.replace(': ClaimResult', '')} await null;`,
    ],
  ],
  'a lock has one owner': [
    ['keeps a lock that was released', UNLOCK, 'release: () => locks.get(key) === lock,'],
    ['gives a lock to everybody', HELD, ''],
  ],
  'of 24 who ask for a lock': [
    [
      'reads the lock, thinks, and then writes',
      LOCK,
      `async ${LOCK.replace(': Lock | undefined', '')} await null;`,
    ],
  ],
  'a lock whose owner is gone': [
    ['lets no lock lapse', HELD, 'if (held) return undefined;'],
    ['lets a stale owner renew a lock that another has', 'if (locks.get(key) !== lock) return false;', ''],
    ['lets a stale owner release a lock that another has', UNLOCK, 'release: () => locks.delete(key),'],
  ],
  'renewing a lock': [
    ['does not write when a lock is renewed', LOCK_LEASE, ''],
    [
      'never shortens the lease of a lock',
      LOCK_LEASE,
      'lock.leaseEnds = Math.max(lock.leaseEnds, this.#now() + ms);',
    ],
  ],
  'a lock is no part of a transaction': [
    ['rolls locks back with an event', RELEASE, `${RELEASE} this.#locks.clear();`],
  ],
  'completedWith gives the fingerprint': [
    [
      'knows a key as completed while it is worked on',
      KNOWN,
      KNOWN.replace("found?.state === 'completed'", 'found'),
    ],
    [
      'knows a key by another that differs in case',
      KNOWN,
      KNOWN.replaceAll('found', 'this.#find(key.toLowerCase())'),
    ],
  ],
  'completedWith changes nothing': [
    [
      'claims a key to know whether it is completed',
      KNOWN,
      `const { status, claim, ...rest } = this.claim(key, { leaseMs: 1, fingerprint: '' }); claim?.release(claim.finished); return rest.fingerprint;`,
    ],
  ],
  'ping claims nothing and forgets nothing': [
    ['begins anew when it is asked whether it is well', READ, `ping() { this.#young.clear(); } ${READ}`],
  ],
};

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

  describe.each(Object.entries(MUTANTS))('notices by "%s …" a store that', (by, damages) => {
    test.each(damages)('%s', async (_, find, replace) => {
      expect(SOURCE.split(find)).toHaveLength(2);
      const noticed = await broken(load(SOURCE.replace(find, () => replace)));
      expect(noticed).toContainEqual(expect.stringMatching(`^${by}`));
    });
  });

  test('has no case that notices nothing', async () => {
    const noticed: string[] = [];
    for (const [, find, replace] of Object.values(MUTANTS).flat())
      noticed.push(...(await broken(load(SOURCE.replace(find, () => replace)))));
    const names = storeContract({ create: () => load(SOURCE)() }).map(({ name }) => name);
    expect(names.filter((name) => !noticed.includes(name))).toEqual([]);
  });
});
