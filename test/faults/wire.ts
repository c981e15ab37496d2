// Stands between the workers and a store, and breaks the connection in the ways in which networks do.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * - `open`: everything passes.
 * - `cut`: connections are reset, and new ones refused.
 * - `black hole`: connections stand, and nothing passes either way.
 * - `no replies`: the store hears everything, and nobody hears the store.
 */
export type Weather = 'open' | 'cut' | 'black hole' | 'no replies';

export interface Wire {
  readonly port: number;
  become(weather: Weather): void;
  close(): Promise<void>;
}

export async function startWire(targetPort: number): Promise<Wire> {
  let weather: Weather = 'open';
  const pairs = new Set<readonly [Socket, Socket]>();
  const server = createServer((near) => {
    near.on('error', () => {});
    if (weather === 'cut') return void near.resetAndDestroy();
    const far = connect(targetPort, '127.0.0.1').on('error', () => near.destroy());
    const pair = [near, far] as const;
    pairs.add(pair);
    near.on('data', (bytes) => void (weather === 'black hole' || far.write(bytes)));
    far.on('data', (bytes) => void (weather === 'open' && near.write(bytes)));
    const end = () => {
      pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    near.on('close', end);
    far.on('close', end);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    become: (next) => {
      // Bytes swallowed in the middle of a protocol leave both ends lost, as a router that went down does.
      if (next === 'cut' || (next === 'open' && weather !== 'open'))
        for (const [near] of pairs) near.resetAndDestroy();
      weather = next;
    },
    close: async () => {
      for (const [near] of pairs) near.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}
