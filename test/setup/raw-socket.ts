// A bare TCP connection: HTTP clients repair most malformed requests before they are sent.
import { connect, type Socket } from 'node:net';
import type { SentDelivery } from './delivery.js';

export interface RawSocket {
  readonly socket: Socket;
  /** All that has come back so far. */
  readonly received: string;
  write(data: string | Uint8Array): void;
  /** Resolves with all that has come back once it matches. */
  until(pattern: RegExp): Promise<string>;
  /** Resolves with all that came back once the connection is closed, whoever closed it and however. */
  readonly closed: Promise<string>;
}

/** @param allowHalfOpen whether our half stays open after the server has closed its own */
export async function openSocket(port: number, allowHalfOpen = false): Promise<RawSocket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen });
  let received = '';
  const watchers = new Set<() => void>();
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
    for (const watch of watchers) watch();
  });
  socket.on('error', () => {});
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(received)));
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  return {
    socket,
    get received() {
      return received;
    },
    write: (data) => void socket.write(data),
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const watch = () => {
          if (!pattern.test(received)) return;
          watchers.delete(watch);
          resolve(received);
        };
        watchers.add(watch);
        void closed.then(() => reject(new Error(`closed after ${JSON.stringify(received)}`)));
        watch();
      }),
    closed,
  };
}

/** A connection that the headers of a delivery are written to, with its length or another framing. */
export async function openDelivery(
  port: number,
  { body, headers }: SentDelivery,
  framing: readonly [string, string | number] = ['content-length', body.length],
): Promise<RawSocket> {
  const sender = await openSocket(port);
  sender.write(head([...Object.entries(headers), framing]));
  return sender;
}

/** Request line and headers, up to and with the empty line. Each header is a line of its own, so any may come twice. */
export function head(headers: readonly (readonly [string, string | number])[], path = '/hooks'): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${lines}\r\n`;
}

/** A whole request as it should be. */
export function wire({ body, headers }: SentDelivery): Buffer {
  return Buffer.concat([
    Buffer.from(head([...Object.entries(headers), ['content-length', body.length]])),
    body,
  ]);
}
