// A simulator and endpoints for one test file: endpoints are plain node:http and share no code with the package.

import { spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import http, { type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import {
  type Attempt,
  type FaultKind,
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from 'payment-webhooks/simulator';
import { afterwards, closeServer, listening, temporaryFolder } from '../../setup/afterwards.js';
import { needing } from '../../setup/platform.js';
import { openSocket } from '../../setup/raw-socket.js';

export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  rawHeaders: string[];
  body: Buffer;
}

export type Answer = number | ((received: Received, response: ServerResponse) => void);

export { afterwards, listening, temporaryFolder };

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

export const stateFile = () => join(temporaryFolder(), 'state.json');

/** Whether this machine has the address. */
export function hasAddress(address: string): boolean {
  return Object.values(networkInterfaces()).some((all) => all?.some((one) => one.address === address));
}

/** Serves this until the test is over. @returns its URL, without a path */
export async function served(listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listening(listener)}`;
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
  const port = await listening(server);
  return { url: `http://127.0.0.1:${port}/hooks`, port, received, close: () => closeServer(server) };
}

/** The first of what was delivered. */
export function first<One>([one]: readonly One[]): One {
  if (one === undefined) throw new Error('Nothing was delivered.');
  return one;
}

/** A simulator with one webhook, to an endpoint with these answers. */
export async function subscribed(options: SimulatorOptions = {}, ...answers: Answer[]) {
  const service = await simulator(options);
  const target = await endpoint(...answers);
  const webhook = await service.webhooks.create({ url: target.url });
  return { service, webhook, ...target };
}

/** The same, after one `transaction.paid`. */
export async function triggered(options: SimulatorOptions = {}, ...answers: Answer[]) {
  const world = await subscribed(options, ...answers);
  const delivery = first(await world.service.trigger('transaction.paid'));
  return { ...world, delivery, id: delivery.id };
}

/** The first attempt to deliver to a webhook with this URL. */
export async function attemptAt(
  url: string,
  { service, fault, ...options }: SimulatorOptions & { service?: Simulator; fault?: FaultKind } = {},
): Promise<Attempt | undefined> {
  const running = service ?? (await simulator({ retry: 'off', ...options }));
  await running.webhooks.create({ url });
  return first(await running.trigger('transaction.paid', {}, fault ? { fault } : {})).attempts[0];
}

/** The signature as the `openssl` program makes it: a witness that shares nothing with this package. Node's without one. */
export function opensslHmac(body: string | Buffer, key: string): string {
  if (needing('openssl').missing.length > 0) return createHmac('sha256', key).update(body).digest('hex');
  const words = ['dgst', '-sha256', '-hmac', key, '-r'];
  const { stdout, status, stderr } = spawnSync('openssl', words, { input: body });
  if (status !== 0) throw new Error(`openssl failed: ${stderr}`);
  return stdout.toString('utf8').slice(0, 64);
}

/** A key and a certificate for 127.0.0.1, made with the openssl program. */
export function selfSigned(): { key: string; cert: string } {
  const words =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=endpoint -addext subjectAltName=IP:127.0.0.1 -keyout - -out -';
  const { stdout } = spawnSync('openssl', words.split(' '), { encoding: 'utf8' });
  const [key = '', cert = ''] = stdout.match(/-----BEGIN (.+)-----[\s\S]+?-----END \1-----/g) ?? [];
  return { key, cert };
}

/** Expects that the request is signed with this key. */
export function expectSigned(
  request: Received | undefined,
  key: string,
  header = 'x-service-signature',
): void {
  expect(request?.headers[header]).toBe(opensslHmac(request?.body ?? 'nothing', key));
}

interface Call {
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

/** A request as a client sends it; a body is sent as JSON. */
export async function call(url: string, { method = 'GET', body, headers = {} }: Call = {}) {
  const type = method === 'GET' ? undefined : { 'Content-Type': 'application/json' };
  const sent = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(url, {
    method,
    headers: { ...type, ...headers },
    ...(sent && { body: sent }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  // biome-ignore lint/suspicious/noExplicitAny: what a JSON answer holds is what the tests find out
  const json: any = isJson ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, text, json };
}

export const post = (url: string, body: unknown = {}, headers: Record<string, string> = {}) =>
  call(url, { method: 'POST', body, headers });

export const basic = (key: string) => ({
  Authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}`,
});
export const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

/** One raw request, for what an HTTP client would repair or refuse; resolves with everything that came back. */
export async function raw(service: Simulator, lines: string[], body = ''): Promise<string> {
  const { write, closed } = await openSocket(Number(new URL(service.baseUrl).port));
  write(`${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n${body}`);
  return closed;
}
