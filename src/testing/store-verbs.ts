// The store contract, part one: what claim, renew, complete and release promise to one caller after another.
import { ALIVE_MS, BRIEF_MS, type StorePromise, same } from './store-trial.js';

export const VERB_PROMISES: readonly StorePromise[] = [
  {
    name: 'the first claim of a key is granted as attempt 1, with no handler finished',
    check: async (trial) => {
      const { attempt, finished } = await trial.granted(trial.key());
      same([attempt, finished], [1, []], 'the first claim is attempt 1 and knows no finished handler');
    },
  },
  {
    name: 'a key whose lease runs is in progress, and says for how long',
    check: async (trial) => {
      const key = trial.key();
      await trial.granted(key);
      await trial.inProgress(key);
    },
  },
  {
    name: 'a completed key stays completed, with the fingerprint of the run that completed it',
    check: async (trial) => {
      const key = trial.key();
      await trial.lapsed(key, 'first run');
      const second = await trial.granted(key, { bytes: 'second run' });
      await trial.inProgress(key, 'bytes that came while it ran');
      same(await second.complete(), true, 'the owner may complete');
      await trial.completed(key, 'second run');
      await trial.lapse();
      await trial.completed(key, 'second run');
    },
  },
  {
    name: 'a complete whose reply was lost can be asked again',
    check: async (trial) => {
      const key = trial.key();
      const claim = await trial.granted(key);
      const answers = [await claim.complete(), await claim.complete()];
      same(answers, [true, true], 'the same owner completes as often as it asks');
      await trial.completed(key);
    },
  },
  {
    name: 'a released key can be claimed at once, with other bytes too',
    check: async (trial) => {
      const key = trial.key();
      const first = await trial.granted(key, { bytes: 'some' });
      same(await first.release([]), true, 'the owner may release');
      const second = await trial.granted(key, { bytes: 'other' });
      await second.complete();
      await trial.completed(key, 'other');
    },
  },
  {
    name: 'attempt rises by one with every claim, after a release as after a lapse',
    check: async (trial) => {
      const key = trial.key();
      const attempts: number[] = [];
      for (const way of ['release', 'lapse', 'lapse', 'release', 'release']) {
        const claim = way === 'lapse' ? await trial.lapsed(key) : await trial.granted(key);
        attempts.push(claim.attempt);
        if (way === 'release') await claim.release([]);
      }
      same(attempts, [1, 2, 3, 4, 5], 'every successful claim of a key has the next attempt number');
    },
  },
  {
    name: 'finished handlers outlive a release and a lapse, and each release replaces the list',
    check: async (trial) => {
      const key = trial.key();
      const lists: (readonly string[])[] = [];
      for (const now of [['mail', 'audit'], ['ledger'], []]) {
        lists.push((await trial.lapsed(key)).finished);
        const claim = await trial.granted(key);
        lists.push(claim.finished);
        await claim.release(now);
      }
      lists.push((await trial.granted(key)).finished);
      const expected = [[], [], ['mail', 'audit'], ['mail', 'audit'], ['ledger'], ['ledger'], []];
      same(lists, expected, 'the next claims know the list of the latest release, and nothing older');
    },
  },
  {
    name: 'names of finished handlers may hold any character',
    check: async (trial) => {
      const key = trial.key();
      const names = [
        '',
        ' ',
        'a,b',
        '{x}',
        '"q"',
        "it's",
        '\\',
        'NULL',
        'null',
        '[1]',
        'Ωμέγα 🦊',
        'new\nline',
        '$1',
        '%s',
      ];
      await (await trial.granted(key)).release(names);
      same((await trial.granted(key)).finished, names, 'finished handlers come back as they were given');
    },
  },
  {
    name: 'renew sets the end of the lease to so long from now, and may shorten it',
    check: async (trial) => {
      const [longer, shorter] = [trial.key(), trial.key()];
      const brief = await trial.granted(longer, { leaseMs: BRIEF_MS });
      same(await brief.renew(ALIVE_MS), true, 'the owner may renew');
      same(await (await trial.granted(shorter)).renew(BRIEF_MS), true, 'the owner may shorten its lease');
      await trial.lapse();
      await trial.inProgress(longer);
      same((await trial.granted(shorter)).attempt, 2, 'a lease that was shortened lapses early');
    },
  },
  {
    name: 'ids that differ only in case, or look like keys of another namespace, are different events',
    check: async (trial) => {
      const key = trial.key();
      const others = [
        key.toUpperCase(),
        `x:${key}`,
        `${key}:x`,
        `${key}%`,
        `${key}*`,
        `{${key}}`,
        `${key}'--`,
        `${key}\\`,
      ];
      const alike = [
        key.replace('live', 'sandbox'),
        key.replace('contract', 'contract:live'),
        `${key}~`.padEnd(320, '~'),
      ];
      const keys = [key, ...others, ...alike];
      for (const each of keys) same((await trial.granted(each)).attempt, 1, `the key ${each} is new`);
      for (const each of keys) await trial.inProgress(each);
    },
  },
];
