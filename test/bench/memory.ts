// What 10,000 deliveries hold that wait on slow handlers, beside node:http by hand with the same bytes and events.
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { bodyOf, ID } from './events.js';
import { headersOf, schemes, signatureOf } from './schemes.js';
import { type Server, type Surroundings, serve } from './server.js';

const WAITING = 10_000;
const LIMIT = 16_384;
const AT_ONCE = 200;
const env = { BENCH_WAITING: String(WAITING), BENCH_LIMIT: String(LIMIT) };

export interface Memory {
  readonly waiting: number;
  /** Bytes of buffers, and what the bodies may take at most. */
  readonly buffers: number;
  readonly allowed: number;
  /** Bytes for one delivery, beyond those that are held by hand. */
  readonly overhead: number;
}

export async function measureMemory({
  progress,
  node,
}: Surroundings & { readonly progress: (text: string) => void }): Promise<Memory> {
  progress('memory: by hand');
  const floor = await held('floor-waiting', node);
  progress('memory: ours');
  const ours = await held('ours-waiting', node);
  return {
    waiting: WAITING,
    buffers: ours.buffers,
    allowed: LIMIT * WAITING,
    overhead: (ours.total - floor.total) / WAITING,
  };
}

interface Held {
  readonly buffers: number;
  readonly total: number;
}

async function held(name: string, node: string): Promise<Held> {
  const server = await serve(name, { node, env, flags: ['--expose-gc'] });
  const sockets: Socket[] = [];
  try {
    const before = await server.memory();
    while (sockets.length < WAITING) {
      const ids = Array.from({ length: AT_ONCE }, (_, index) => sockets.length + index);
      sockets.push(...(await Promise.all(ids.map((id) => deliver(server.port, id)))));
    }
    const after = await settled(server);
    return {
      buffers: after.arrayBuffers - before.arrayBuffers,
      total: after.heapUsed + after.external - before.heapUsed - before.external,
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
  const id = ID.slice(0, -12) + String(number).padStart(12, '0');
  const letter = { id, time: '0', body: bodyOf('ours', LIMIT).replace(ID, id) };
  const headers = {
    Host: '127.0.0.1',
    ...headersOf(schemes.ours, letter, signatureOf(schemes.ours, letter)),
    'Content-Length': String(LIMIT),
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', reject);
    socket.once('data', () => reject(new Error('A delivery that should wait was answered.')));
    socket.write(`POST /hooks HTTP/1.1\r\n${head.join('')}\r\n${letter.body}`, () => resolve(socket));
  });
}
