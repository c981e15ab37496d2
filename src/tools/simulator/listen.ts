// Opens a port; if it is in use, says which program uses it.
import { once } from 'node:events';
import http, { type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConfigurationError } from '../../errors.js';

const PROBE_TIMEOUT_MS = 1_000;

/** @throws {ConfigurationError} that says who uses the port, or what is wrong with the host */
export async function listen(
  listener: RequestListener,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<{ server: Server; port: number }> {
  const server = http.createServer(listener);
  try {
    await once(server.listen(port, host), 'listening');
  } catch (error) {
    throw new ConfigurationError(await explain((error as NodeJS.ErrnoException).code, host, port));
  }
  return { server, port: (server.address() as AddressInfo).port };
}

/** Also closes open connections. */
export async function closeServer(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** The host for a URL by which this machine reaches the server. */
export function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

async function explain(code: string | undefined, host: string, port: number): Promise<string> {
  if (code === 'EADDRINUSE') {
    const owner = await ownerOf(`http://${urlHost(host)}:${port}/_sim/readyz`);
    return `Port ${port} is taken by ${owner}. Stop it, or choose another port; 0 picks a free one.`;
  }
  if (code === 'EACCES') return `Port ${port} requires elevated privileges. Choose a port above 1023.`;
  return `The simulator cannot listen on ${host} port ${port} (${code}). Choose an address of this machine, such as 127.0.0.1.`;
}

/** Asks the server on the port whether it is a simulator. */
async function ownerOf(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS), redirect: 'error' });
    const { simulator, pid, started_at } = (await response.json()) as Record<string, unknown>;
    if (simulator === 'payment-webhooks')
      return `another simulator (process ${Number(pid)}, started ${String(started_at).slice(0, 40)})`;
  } catch {
    // No answer, or not JSON over HTTP.
  }
  return 'another program';
}
