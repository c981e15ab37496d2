// Opens a port; when it is taken, says who has it.
import http, { type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConfigurationError } from '../errors.js';
import { after, cancel } from './real-time.js';

/** Where to listen. */
export interface Place {
  readonly host: string;
  readonly port: number;
}

const ASK_MS = 1_000;

/** @throws {ConfigurationError} naming who has the port, or what is wrong with the host */
export async function listen(
  listener: RequestListener,
  place: Place,
): Promise<{ server: Server; port: number }> {
  const server = http.createServer(listener);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(place.port, place.host, resolve);
    });
  } catch (error) {
    throw new ConfigurationError(await whyNot(error, place));
  }
  return { server, port: (server.address() as AddressInfo).port };
}

/** Ends every connection, also those that somebody keeps open. */
export async function closeServer(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** The host as it stands in a URL: reachable from this machine, whatever the server listens on. */
export function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

async function whyNot(error: unknown, { host, port }: Place): Promise<string> {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    const cure = `Stop it, or choose another port (port: 0 takes any free one).`;
    return `Port ${port} is taken by ${await whoHas(host, port)}. ${cure}`;
  }
  if (code === 'EACCES') return `Port ${port} needs more rights than this user has. Choose one above 1023.`;
  return `The simulator cannot listen on ${host} port ${port} (${code}). Leave host out to use 127.0.0.1.`;
}

function whoHas(host: string, port: number): Promise<string> {
  const stranger = 'another program';
  return new Promise((resolve) => {
    const request = http.get(
      { host: urlHost(host).replace(/^\[|\]$/g, ''), port, path: '/_sim/readyz', agent: false },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
          if (text.length > 10_000) request.destroy();
        });
        response.on('close', () => resolve(simulatorIn(text) ?? stranger));
      },
    );
    request.on('error', () => resolve(stranger));
    const timer = after(ASK_MS, () => request.destroy());
    request.on('close', () => {
      cancel(timer);
      resolve(stranger);
    });
  });
}

function simulatorIn(text: string): string | undefined {
  try {
    const { simulator, pid, started_at } = JSON.parse(text);
    if (simulator !== 'payment-webhooks') return undefined;
    return `another simulator (process ${Number(pid)}, started ${String(started_at).slice(0, 40)})`;
  } catch {
    return undefined;
  }
}
