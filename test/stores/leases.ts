// What holds of the claims of every store, on every database and through every client.
import { describe, expect, test } from '@jest/globals';
import { keepsTheContract, walksAsPromised } from './contract.js';
import { granted, type Opened, type StoreOptions, type World } from './worlds.js';

export const bytes = { leaseMs: 60_000, fingerprint: 'a'.repeat(64) };

export function keepsLeases(world: World): void {
  let opened: Opened | undefined;
  const open = (options: StoreOptions = {}) => {
    opened ??= world.open({ max: 20 });
    return opened.storeWith(options);
  };

  describe('keeps the contract', () => {
    keepsTheContract({ create: ({ retention }) => open({ retention }) });
    walksAsPromised({ create: ({ retention }) => open({ retention }) });
  });

  test('migrates at once in several processes, again later, and keeps what the table remembers', async () => {
    const table = `${world.schema}.at_once`;
    const pools = [world.open(), world.open()];
    const stores = [...pools, ...pools, ...pools].map(({ storeWith }) => storeWith({ table }));
    await Promise.all(stores.map((each) => each.migrate()));
    const [store] = stores as [(typeof stores)[0]];
    expect(await granted(await store.claim('kept', bytes)).complete()).toBe(true);
    await store.migrate();
    expect((await store.claim('kept', bytes)).status).toBe('completed');
  });

  test('answers a ping, and claims nothing', async () => {
    const rows = () => world.observe(`SELECT count(*) AS n FROM ${world.table}`);
    const before = await rows();
    await expect(open().ping()).resolves.toBeUndefined();
    expect(await rows()).toEqual(before);
  });

  test('rejects a ping and a claim without the table', async () => {
    const missing = open({ table: `${world.schema}.missing` });
    await expect(missing.ping()).rejects.toThrow(/does(?: not|n't) exist/);
    await expect(missing.claim('a', bytes)).rejects.toThrow(/does(?: not|n't) exist/);
  });

  test('forgets a lock when it is released', async () => {
    const lock = await open().lock?.('lock', 60_000);
    expect(await lock?.release()).toBe(true);
    expect(await world.known('lock')).toBe(0);
  });
}
