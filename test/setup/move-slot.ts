// Moves a slot of a Redis cluster from one master to another, and stops halfway.
import type { Cluster, Redis } from 'ioredis';

export interface MovingSlot {
  /** These keys go; what is asked of the old master about them is answered ASK, and TRYAGAIN where others stayed. */
  move(...keys: string[]): Promise<void>;
  /** From now on the old master answers MOVED. All keys must have gone. */
  finish(): Promise<void>;
}

/** The slot of this key. It must be settled. */
export async function startMovingSlot(cluster: Cluster, key: string): Promise<MovingSlot> {
  const masters = cluster.nodes('master');
  const ids = await Promise.all(masters.map(async (master) => String(await master.call('CLUSTER', 'MYID'))));
  const slot = String(await cluster.call('CLUSTER', 'KEYSLOT', key));
  const [, , owner] = (await (masters[0] as Redis).cluster('SLOTS')).find(
    ([first, last]) => Number(first) <= Number(slot) && Number(slot) <= Number(last),
  ) ?? [0, 0, ['', 0]];
  const source = masters.findIndex(({ options }) => options.port === owner[1]);
  const target = (source + 1) % masters.length;
  const [from, to] = [masters[source] as Redis, masters[target] as Redis];
  const [old, next] = [ids[source] as string, ids[target] as string];
  await to.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', old);
  await from.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', next);
  return {
    move: async (...keys) => {
      await from.call('MIGRATE', '127.0.0.1', String(to.options.port), '', '0', '5000', 'KEYS', ...keys);
    },
    finish: async () => {
      // The target first: else nobody would own the slot for a moment.
      for (const node of [to, from, ...masters]) await node.call('CLUSTER', 'SETSLOT', slot, 'NODE', next);
    },
  };
}
