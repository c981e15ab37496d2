// What a test opens is closed when the test is over: servers on free ports, folders, anything with a way to end it.
import { mkdtempSync, rmSync } from 'node:fs';
import http, { type RequestListener } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from '@jest/globals';

const closers: (() => unknown)[] = [];

afterEach(async () => {
  const failures: unknown[] = [];
  const note = (error: unknown) => void failures.push(error);
  // Every one, also after one that failed: what stays open keeps Jest from ending.
  for (const close of closers.splice(0).reverse()) await Promise.resolve().then(close).catch(note);
  if (failures.length > 0) throw failures[0];
});

/** Runs after the test; what was opened last is closed first. */
export function afterwards(close: () => unknown): void {
  closers.push(close);
}

/** Serves this on a free port until the test is over. @returns the port */
export async function listening(served: Server | RequestListener, host = '127.0.0.1'): Promise<number> {
  const server = typeof served === 'function' ? http.createServer(served) : served;
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  // A server that is not of HTTP does not know its connections.
  afterwards(() => {
    for (const socket of sockets) socket.destroy();
    return closeServer(server);
  });
  return (server.address() as AddressInfo).port;
}

/** With the connections that are open, if it is one of HTTP. */
export function closeServer(server: Server): Promise<unknown> {
  return new Promise((resolve) => {
    server.close(resolve);
    if ('closeAllConnections' in server) (server as http.Server).closeAllConnections();
  });
}

/** A folder that is removed after the test. */
export function temporaryFolder(prefix = 'payment-webhooks-'): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  afterwards(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
