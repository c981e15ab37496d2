// A simulator and endpoints for one test file: endpoints are plain node:http and share no code with the package.

import { spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import http, { type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterEach } from '@jest/globals';
import { type Simulator, type SimulatorOptions, startSimulator } from 'payment-webhooks/simulator';
import { needing } from '../../setup/platform.js';

export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  rawHeaders: string[];
  body: Buffer;
}

export type Answer = number | ((received: Received, response: ServerResponse) => void);

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  const failures: unknown[] = [];
  // Every one, also after one that failed: what stays open keeps Jest from ending.
  for (const close of closers.splice(0).reverse()) await close().catch((error) => failures.push(error));
  if (failures.length > 0) throw failures[0];
});

/** Runs after the test. */
export function afterwards(close: () => Promise<unknown>): void {
  closers.push(close);
}

export async function simulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const service = await startSimulator({ port: 0, ...options });
  afterwards(() => service.close());
  return service;
}

/** The error of a simulator that does not start. One that starts is closed, so that a failing test does not hang. */
export async function startError(options: SimulatorOptions): Promise<Error> {
  const outcome = await startSimulator({ port: 0, ...options }).catch((error: Error) => error);
  if (outcome instanceof Error) return outcome;
  await outcome.close();
  throw new Error('The simulator started.');
}

/** Whether this machine has the address. */
export function hasAddress(address: string): boolean {
  return Object.values(networkInterfaces()).some((all) => all?.some((one) => one.address === address));
}

/** An endpoint that records what it gets. `answers` are used in turn, the last one for ever. */
export async function endpoint(...answers: Answer[]) {
  const received: Received[] = [];
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => {});
    request.on('end', () => {
      const { method = '', url: path = '', headers, rawHeaders } = request;
      const one = { method, path, headers, rawHeaders, body: Buffer.concat(chunks) };
      const answer = answers[Math.min(received.length, answers.length - 1)] ?? 200;
      received.push(one);
      if (typeof answer === 'number') response.writeHead(answer).end();
      else answer(one, response);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const close = () =>
    new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  afterwards(close);
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/hooks`, port, received, server, close };
}

/** The signature as the `openssl` program makes it: a witness that shares nothing with this package. Node's without one. */
export function opensslHmac(body: string | Buffer, key: string): string {
  if (needing('openssl').missing.length > 0) return createHmac('sha256', key).update(body).digest('hex');
  const { stdout, status, stderr } = spawnSync('openssl', ['dgst', '-sha256', '-hmac', key, '-r'], {
    input: body,
  });
  if (status !== 0) throw new Error(`openssl failed: ${stderr}`);
  return stdout.toString('utf8').slice(0, 64);
}

export interface CallResult {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what a JSON answer holds is what the tests find out
  json: any;
}

/** A request as a client sends it; a body is sent as JSON. */
export async function call(
  url: string,
  {
    method = 'GET',
    body,
    headers = {},
  }: { method?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<CallResult> {
  const response = await fetch(url, {
    method,
    headers: { ...(method === 'GET' ? {} : { 'Content-Type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json');
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson ? JSON.parse(text) : undefined,
  };
}

export function basic(key: string): Record<string, string> {
  return { Authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` };
}

export function bearer(token: string): Record<string, string> {
  return { Authorization: `Bearer ${token}` };
}

/** One raw request, for what an HTTP client would repair or refuse; resolves with everything that came back. */
export function raw(service: Simulator, lines: string[], body = ''): Promise<string> {
  const { port } = new URL(service.baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1');
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(text));
    socket.write(`${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n${body}`);
  });
}
