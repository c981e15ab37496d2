// A proxy between the workers and a store, which breaks connections in the ways that networks do.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * - `open`: everything passes.
 * - `cut`: connections are reset, and new ones refused.
 * - `black hole`: connections stay open, and nothing passes either way.
 * - `no replies`: the store gets everything, and nothing of it comes back.
 */
export type NetworkState = 'open' | 'cut' | 'black hole' | 'no replies';

export interface FaultyProxy {
  readonly port: number;
  set(state: NetworkState): void;
  /** Where new connections lead. Those that are open stay where they are. */
  target(port: number): void;
  close(): Promise<void>;
}

export async function startProxy(targetPort: number): Promise<FaultyProxy> {
  let target = targetPort;
  let state: NetworkState = 'open';
  const pairs = new Set<readonly [Socket, Socket]>();
  const server = createServer((near) => {
    near.on('error', () => {});
    if (state === 'cut') return reset(near);
    const far = connect(target, '127.0.0.1').on('error', () => near.destroy());
    const pair = [near, far] as const;
    pairs.add(pair);
    near.on('data', (bytes) => void (state === 'black hole' || far.write(bytes)));
    far.on('data', (bytes) => void (state === 'open' && near.write(bytes)));
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
    set: (next) => {
      // Bytes dropped in the middle of a protocol leave both ends waiting, as a router that went down does.
      if (next === 'cut' || (next === 'open' && state !== 'open')) for (const [near] of pairs) reset(near);
      state = next;
    },
    target: (port) => {
      target = port;
    },
    close: async () => {
      for (const [near] of pairs) near.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** A socket that is being shut down cannot be reset any more, and Node would keep it for ever. */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
