// distance-proxy.js PORT: passes bytes to the port at once, and its answers after the milliseconds of the last message.
import { connect, createServer } from 'node:net';

const target = Number(process.argv[2]);
let ms = 0;

process.on('message', (next) => {
  ms = next;
});
process.on('disconnect', () => process.exit());

/** What is held back, oldest first: `at` rises, as long as the distance stays. */
let held = [];
let waiting = false;

function passOn() {
  const now = performance.now();
  let due = 0;
  for (; due < held.length && held[due].at <= now; due += 1) held[due].socket.write(held[due].chunk);
  if (due > 0) held = held.slice(due);
  waiting = held.length > 0;
  if (waiting) setTimeout(passOn, held[0].at - now);
}

const server = createServer({ noDelay: true }, (near) => {
  const far = connect({ port: target, host: '127.0.0.1', noDelay: true });
  near.on('data', (chunk) => far.write(chunk));
  far.on('data', (chunk) => {
    if (ms === 0) {
      near.write(chunk);
      return;
    }
    held.push({ at: performance.now() + ms, socket: near, chunk });
    if (!waiting) setTimeout(passOn, ms);
    waiting = true;
  });
  for (const [one, other] of [
    [near, far],
    [far, near],
  ]) {
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
  }
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
