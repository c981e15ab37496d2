// Whether the contract notices: the memory store is damaged in one place at a time, and each time a case must fail.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import * as errors from '../../src/errors.js';
import * as options from '../../src/options/define-options.js';
import type { memoryStore } from '../../src/stores/memory.js';
import { storeContract } from '../../src/testing/store-contract.js';
import { type Damage, noticesEachDamage } from './damaged-source.js';

const SOURCE = readFileSync(join(__dirname, '../../src/stores/memory.ts'), 'utf8');

/** From the signature of `claim` to where it has read the latest claim of the key. */
const READ = /claim\(key: string.*?: undefined;\n/s.exec(SOURCE)?.[0] ?? '';
const GRANT = 'const claim = new MemoryClaim(this, key, fingerprint, latest);';
const OWNS = ' && this.#claims.get(claim.key) === claim';
const RELEASE = `if (!this.#end(claim, 'released')) return false;
    claim.finished = [...finished];`;
const RENEW = `if (!this.#owns(claim)) return false;
    this.#leaveLine(claim);
    this.#extend(claim, leaseMs, this.#now());`;
const AGAIN = "if (claim.state === 'completed') return this.#claims.get(claim.key) === claim;";
const IN_PROGRESS = "return { status: 'in_progress', retryAfterMs: latest.leaseEnds - now };";
const COMPLETE = "return this.#end(claim, 'completed');";
const REMEMBERED = 'found && found.forgetAt > now ?';
const forEverIf = (state: string) => `found && (found.forgetAt > now || found.state ${state}) ?`;
const FINISHED = 'claim.finished = [...finished];';
const LEASE = 'claim.leaseEnds = now + leaseMs;';
const FORGET_AT = 'claim.forgetAt = now + Math.max(leaseMs, this.retentionMs);';
const LOCK_LEASE = 'lock.leaseEnds = this.#now() + ms;';
const TAKEN = 'latest && latest.leaseEnds > now';
const NEXT_ATTEMPT = 'latest.attempt + 1 : 1';
const OWNER = 'const owner = this.#claims.get(claim.key); if (owner?.state === "running") claim = owner;';

const LOCK = /lock\(key: string.*?held = locks\.get\(key\);\n/s.exec(SOURCE)?.[0] ?? '';
const HELD = 'if (held && held.leaseEnds > now) return undefined;';
const UNLOCK = 'release: () => locks.get(key) === lock && locks.delete(key),';

const thinking = (method: string) =>
  `async ${method.replace(/: ClaimResult|: Lock \| undefined/, '')} await null;`;

const KNOWN =
  "return found?.state === 'completed' && found.forgetAt > this.#now() ? found.fingerprint : undefined;";

const FORGOTTEN = 'this.#running -= 1;\n    this.#claims.delete(key);';

/** By the beginning of the name of the case that notices. */
const MUTANTS: Readonly<Record<string, readonly Damage[]>> = {
  'the first claim of a key is attempt 1': [['counts from zero', NEXT_ATTEMPT, 'latest.attempt + 1 : 0']],
  'a released or abandoned key is forgotten after its retention': [
    ['remembers for ever what was never completed', REMEMBERED, forEverIf('!== "completed"')],
    [
      'ignores the retention of what is released',
      FORGET_AT,
      FORGET_AT.replace('now +', 'now + (claim.state === "released" ? 1e9 : 0) +'),
    ],
  ],
  'an owner that was replaced is refused, whatever the new owner does, and changes nothing': [
    ['leaves a claim its event when another takes it over', OWNS, ''],
    ['ignores the token on release', RELEASE, `${OWNER} ${RELEASE}`],
    ['lets a stale owner renew what another has', RENEW, `${OWNER} ${RENEW}`],
    [
      'says true to whoever completes what is completed',
      AGAIN,
      'if (this.#claims.get(claim.key)?.state === "completed") return true;',
    ],
  ],
  'when a lapsed owner completes while another claims': [
    ['ignores the token on complete', COMPLETE, `${OWNER} return this.#end(claim, 'completed');`],
  ],
  'an owner that has released or completed is refused': [
    [
      'lets a stale owner complete over what others did',
      COMPLETE,
      "this.#claims.set(claim.key, claim); claim.state = 'running'; return this.#end(claim, 'completed');",
    ],
    [
      'keeps the lease on release',
      RELEASE,
      'if (!this.#owns(claim)) return false; claim.finished = [...finished];',
    ],
  ],
  'attempt increases by one with every claim, after a release and after a lapse': [
    ['keeps the attempt on a takeover', NEXT_ATTEMPT, 'latest.attempt : 1'],
    ['lets no lease lapse', TAKEN, "latest?.state === 'running'"],
    ['deletes on release', RELEASE, RELEASE.replace(FINISHED, 'this.#claims.delete(claim.key);')],
  ],
  'a key with a running lease is in progress, and the store says for how long': [
    ['takes over a live lease', TAKEN, 'latest && latest.leaseEnds < now'],
  ],
  'a lapsed owner may still renew, complete or release unless it was replaced': [
    [
      'says that a lapsed lease is lost though nobody took it',
      RENEW,
      `if (claim.leaseEnds <= this.#now()) return false; ${RENEW}`,
    ],
  ],
  'a completed key stays completed': [
    ['forgets after complete', COMPLETE, COMPLETE.replace(';', ' && this.#claims.delete(claim.key);')],
    [
      'returns the fingerprint of the duplicate',
      "return { status: 'completed', fingerprint: latest.fingerprint };",
      "return { status: 'completed', fingerprint };",
    ],
    ['keeps the first fingerprint', '= fingerprint;', '= latest?.fingerprint ?? fingerprint;'],
  ],
  'complete() can be called again after its reply was lost': [['forgets who completed', AGAIN, '']],
  'finished handlers survive a release and a lapse, and each release replaces the list': [
    [
      'keeps the list of an earlier release',
      FINISHED,
      'claim.finished = [...(claim.finished[0] ? claim.finished : finished)];',
    ],
    ['joins the lists of all releases', FINISHED, 'claim.finished = [...claim.finished, ...finished];'],
  ],
  'names of finished handlers may contain any character': [['drops the finished handlers', FINISHED, '']],
  'one of 24 concurrent claims of a released key': [
    ['counts again from a release', REMEMBERED, 'found?.forgetAt > now && found.state !== "released" ?'],
  ],
  'one of 24 concurrent claims of a lapsed key': [
    [
      'counts an attempt for a claim that was refused',
      IN_PROGRESS,
      `{ Object.assign(latest, { attempt: latest.attempt + 1 }); ${IN_PROGRESS} }`,
    ],
  ],
  'a released key can be claimed at once, also with other bytes': [
    [
      'refuses other bytes than those of the claim that lapsed',
      GRANT,
      `if (latest && latest.fingerprint !== fingerprint) return { status: 'in_progress', retryAfterMs: 1 }; ${GRANT}`,
    ],
  ],
  'renew() starts a new lease, which may be shorter than the old one': [
    ['does not write on renew', RENEW, 'if (!this.#owns(claim)) return false;'],
    ['adds to the lease on renew', LEASE, 'claim.leaseEnds = Math.max(claim.leaseEnds, now) + leaseMs;'],
    ['never shortens a lease', LEASE, 'claim.leaseEnds = Math.max(claim.leaseEnds, now + leaseMs);'],
  ],
  'a completed key is new after its retention': [
    ['ignores the retention of what is completed', REMEMBERED, forEverIf('=== "completed"')],
    ['knows what its retention forgot', KNOWN, KNOWN.replace(' && found.forgetAt > this.#now()', '')],
  ],
  'the retention starts with the last write': [
    [
      'counts the retention of what is completed from its claim',
      'this.#extend(claim, 0, now);\n    this.#joinLine',
      'if (state !== "completed") this.#extend(claim, 0, now);\n    this.#joinLine',
    ],
    [
      'counts the retention from the first write',
      FORGET_AT,
      'claim.forgetAt ||= now + Math.max(leaseMs, this.retentionMs);',
    ],
  ],
  'a key with a running lease is not forgotten, even after its retention': [
    ['forgets a running key', 'Math.max(leaseMs, this.retentionMs)', 'this.retentionMs'],
  ],
  'ids that differ only in case': [
    ['ignores the case of an id', READ, READ.replace('const now', 'key = key.toLowerCase(); const now')],
  ],
  'one of 24 concurrent claims of a new key': [['reads, thinks, and then writes', READ, thinking(READ)]],
  'a lock has one owner': [
    ['keeps a lock that was released', UNLOCK, 'release: () => locks.get(key) === lock,'],
    ['gives a lock to everybody', HELD, ''],
  ],
  'one of 24 concurrent callers': [['reads the lock, thinks, and then writes', LOCK, thinking(LOCK)]],
  'a lock is free after its lease, and its old owner is refused': [
    ['lets no lock lapse', HELD, 'if (held) return undefined;'],
    ['lets a stale owner renew a lock that another has', 'if (locks.get(key) !== lock) return false;', ''],
    ['lets a stale owner release a lock that another has', UNLOCK, 'release: () => locks.delete(key),'],
  ],
  'renewing a lock starts a new lease': [
    ['does not write when a lock is renewed', LOCK_LEASE, ''],
    ['never shortens a lease', LOCK_LEASE, 'lock.leaseEnds = Math.max(lock.leaseEnds, this.#now() + ms);'],
  ],
  'a lock is not part of a transaction: it survives the release of an event': [
    ['rolls locks back with an event', RELEASE, `${RELEASE} this.#locks.clear();`],
  ],
  'completedWith() returns the fingerprint of the run that completed a key': [
    ['knows a running key as completed', KNOWN, KNOWN.replace("found?.state === 'completed'", 'found')],
    ['ignores the case of a key', KNOWN, KNOWN.replaceAll('found', 'this.#claims.get(key.toLowerCase())')],
  ],
  'completedWith() changes nothing: a new key stays new, and an owner keeps its key': [
    [
      'claims a key to know whether it is completed',
      KNOWN,
      `const { status, claim, ...rest } = this.claim(key, { leaseMs: 1, fingerprint: '' }); claim?.release(claim.finished); return rest.fingerprint;`,
    ],
  ],
  'forget() makes a key new': [
    [
      'forgets nothing',
      "this.#claims.delete(key);\n    return { status: 'forgotten'",
      "return { status: 'forgotten'",
    ],
    [
      'ignores the case of what it forgets',
      FORGOTTEN,
      'for (const other of [...this.#claims.keys()]) if (other.toLowerCase() === key.toLowerCase()) this.#claims.delete(other);',
    ],
  ],
  'forget() changes nothing while a key is in progress': [
    [
      'forgets what is in progress',
      "if (found.leaseEnds > now) return { status: 'in_progress'",
      "if (false) return { status: 'in_progress'",
    ],
    [
      'forgets what it does not know',
      "if (!found || found.forgetAt <= now) return { status: 'unknown' };",
      "if (!found || found.forgetAt <= now) return { status: 'forgotten', handlers: [] };",
    ],
  ],
  'ping() changes nothing': [
    ['begins anew when it is asked whether it is well', READ, `ping() { this.#claims.clear(); } ${READ}`],
  ],
};

describe('the store contract', () => {
  const { load, broken } = noticesEachDamage<typeof memoryStore>({
    sources: ['stores/memory'],
    exported: 'memoryStore',
    modules: { '../errors.js': errors, '../options/define-options.js': options },
    contract: (create, now, sleep) =>
      storeContract({ create: ({ retention }) => create({ ...(retention && { retention }), now }), sleep }),
    complaint: /^The store breaks its contract: /,
    damages: MUTANTS,
  });

  test('is kept by a store that lacks all it may lack', async () => {
    const create: typeof memoryStore = (options) => {
      const store = load()(options);
      return { claim: store.claim.bind(store) } as ReturnType<typeof memoryStore>;
    };
    expect(await broken(create)).toEqual([]);
  });
});
