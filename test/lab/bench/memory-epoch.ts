// The memory of 10,000 deliveries that wait for slow handlers, next to a server written by hand on node:http.
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Epoch, Sample } from './epoch.js';
import { bodyOf } from './events.js';
import type { Plan } from './load-epoch.js';
import { ownRequest } from './schemes.js';
import { type Server, type Surroundings, serve } from './server.js';
import { shuffled } from './statistics.js';

export const WAITING = 10_000;
export const LIMIT = 16_384;
export const OURS_WAITING = 'ours-waiting';
export const FLOOR_WAITING = 'floor-waiting';
const AT_ONCE = 200;
const BODY = bodyOf('ours', LIMIT);
const env = { BENCH_WAITING: String(WAITING), BENCH_LIMIT: String(LIMIT) };

/** @param build folder of the build under test */
export async function measureMemoryEpoch(
  build: string,
  { node, say }: Pick<Plan, 'node' | 'say'>,
): Promise<Epoch> {
  const round: Record<string, Sample> = {};
  for (const name of shuffled([OURS_WAITING, FLOOR_WAITING])) {
    say(name);
    round[name] = await held(name, { node, flags: ['--expose-gc'], env: { ...env, BENCH_PACKAGE: build } });
  }
  return { rounds: [round], dropped: {} };
}

async function held(name: string, surroundings: Surroundings): Promise<Sample> {
  const server = await serve(name, surroundings);
  const sockets: Socket[] = [];
  try {
    const before = await server.memory();
    while (sockets.length < WAITING) {
      const ids = Array.from({ length: AT_ONCE }, (_, index) => sockets.length + index);
      sockets.push(...(await Promise.all(ids.map((id) => deliver(server.port, id)))));
    }
    const after = await settled(server);
    return {
      bodyBytes: after.arrayBuffers - before.arrayBuffers,
      heldBytes: after.heapUsed + after.external - before.heapUsed - before.external,
    };
  } finally {
    for (const socket of sockets) socket.destroy();
    await server.stop();
  }
}

/** Nobody says when the last delivery waits: its bytes have arrived once the memory for buffers stands still. */
async function settled(server: Server): Promise<NodeJS.MemoryUsage> {
  let last = await server.memory();
  for (;;) {
    await pause(500);
    const now = await server.memory();
    if (Math.abs(now.arrayBuffers - last.arrayBuffers) < LIMIT) return now;
    last = now;
  }
}

function deliver(port: number, number: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', reject);
    socket.once('data', () => reject(new Error('A delivery that should wait was answered.')));
    socket.write(ownRequest(BODY, number), () => resolve(socket));
  });
}
