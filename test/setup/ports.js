// Ports that nobody else takes: one to listen on later, and one that refuses every connection.
import { connect, createServer } from 'node:net';

// Below those that the system gives to whoever asks for any (from 32,768 on Linux), also with the 10,000 that Redis adds
// for its cluster. Each worker of Jest has ports of its own.
const FIRST = 10_100;
const PER_WORKER = 2_400;
/** With more, two would look for ports in the same range. */
export const MOST_WORKERS = 5;

const given = new Set();

/** A port for somebody who listens on it later; the one above it is free too. */
export async function freePort() {
  const worker = Number(process.env.JEST_WORKER_ID ?? 0) % MOST_WORKERS;
  for (;;) {
    const port = FIRST + worker * PER_WORKER + 2 * Math.floor(Math.random() * (PER_WORKER / 2));
    if (given.has(port)) continue;
    given.add(port);
    if ((await canListen(port)) && (await canListen(port + 1))) return port;
  }
}

function canListen(port) {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** A port of 127.0.0.1 where nothing listens. It is the near end of a connection, so nobody can take it meanwhile. */
export function refusingPort() {
  return new Promise((resolve, reject) => {
    const server = createServer((far) => far.unref().on('error', () => {}));
    server.once('error', reject).listen(0, '127.0.0.1', () => {
      const { port } = server.unref().address();
      const near = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.1' });
      near.once('connect', () => resolve(near.unref().localPort)).once('error', reject);
    });
  });
}
