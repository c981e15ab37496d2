// The service as its documentation describes it, strict to the letter, for tests of the other side of the wire.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import type { ServiceError } from 'payment-webhooks/client';

export const PRIVATE_KEY = 'pri_8Zt+Q/vM2wX0';
/** The published key of the simulator. */
export const SIMULATOR_KEY = 'pri_sim_dev';
export const INACTIVE_KEY = 'pri_inactive_account';
export const UNVERIFIED_KEY = 'pri_unverified_identity';
export const TOKEN = 'token-with-every-scope';
export const READ_TOKEN = 'token-that-may-only-read';
export const NO_SCOPE_TOKEN = 'token-without-a-scope';

export interface Recorded {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Registered {
  id: string;
  url: string;
  events: string[];
  [field: string]: unknown;
}

type Answerer = (request: IncomingMessage, response: ServerResponse, next: () => void) => unknown;

export interface SpecServer {
  readonly baseUrl: string;
  readonly port: number;
  readonly requests: Recorded[];
  readonly webhooks: Map<string, Registered>;
  /** How records and lists are wrapped; bare when it returns what it got. */
  wrap: (value: unknown) => unknown;
  /** Makes the id of the next webhook. */
  makeId: () => string;
  /** Answers the next request, instead of the service or before it. */
  once(answer: Answerer): void;
  /** Answers every request from now on. */
  always(answer: Answerer | undefined): void;
  reset(): void;
  close(): Promise<void>;
}

/** For one file of tests: as new before each of them. */
export function ownSpecServer(): SpecServer {
  const { service, listen } = makeSpecServer();
  beforeAll(listen);
  beforeEach(() => service.reset());
  afterAll(() => service.close());
  return service;
}

export async function startSpecServer(): Promise<SpecServer> {
  const { service, listen } = makeSpecServer();
  await listen();
  return service;
}

function makeSpecServer() {
  const queue: Answerer[] = [];
  let standing: Answerer | undefined;
  const http = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const { method = '', url = '', headers } = request;
    service.requests.push({ method, path: url, headers, body });
    const next = () => {
      const { status, body: answer } = reply(service, { method, path: url, headers, body });
      json(response, status, answer);
    };
    const answerer = queue.shift() ?? standing;
    await (answerer ? answerer(request, response, next) : next());
  });
  const service: SpecServer = {
    get baseUrl() {
      return `http://127.0.0.1:${service.port}`;
    },
    get port() {
      return (http.address() as AddressInfo).port;
    },
    requests: [],
    webhooks: new Map(),
    wrap: (data) => ({ data }),
    makeId: randomUUID,
    once: (answerer) => void queue.push(answerer),
    always: (answerer) => {
      standing = answerer;
    },
    reset() {
      service.requests.length = 0;
      service.webhooks.clear();
      service.wrap = (data) => ({ data });
      service.makeId = randomUUID;
      queue.length = 0;
      standing = undefined;
    },
    async close() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return { service, listen: () => once(http.listen(0, '127.0.0.1'), 'listening') };
}

/** What a call that must fail failed with. */
export function failure(call: Promise<unknown>): Promise<ServiceError> {
  return call.then(
    () => Promise.reject(new Error('it should have failed')),
    (error) => error,
  );
}

export function json(response: ServerResponse, status: number, body?: unknown, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

interface Reply {
  readonly status: number;
  readonly body?: unknown;
}

function reply(service: SpecServer, request: Recorded): Reply {
  const refusal = authenticate(request.headers.authorization, request.method !== 'GET');
  if (refusal === 401) return { status: 401, body: { message: 'Unauthenticated.' } };
  if (refusal) return { status: 403, body: { message: refusal } };
  const [, id] = /^\/api\/v2\/webhooks\/([^/?]+)$/.exec(request.path) ?? [];
  const stored = id === undefined ? undefined : service.webhooks.get(decodeURIComponent(id));
  switch (`${request.method} ${id === undefined ? request.path : '/api/v2/webhooks/{id}'}`) {
    case 'GET /api/v2/account/me':
      return { status: 200, body: service.wrap({ id: 'acc_1', active: true }) };
    case 'GET /api/v2/webhooks':
      return { status: 200, body: service.wrap([...service.webhooks.values()]) };
    case 'POST /api/v2/webhooks':
      return write(service, { id: service.makeId(), url: '', events: [], created_at: 'now' }, request.body);
    case 'PUT /api/v2/webhooks/{id}':
      return stored ? write(service, stored, request.body) : NOT_FOUND;
    case 'DELETE /api/v2/webhooks/{id}':
      return service.webhooks.delete(stored?.id ?? '') ? { status: 204 } : NOT_FOUND;
    default:
      return NOT_FOUND;
  }
}

const NOT_FOUND: Reply = { status: 404, body: { message: 'Not found.' } };

function write(service: SpecServer, before: Registered, body: string): Reply {
  const given = JSON.parse(body) as Partial<Registered>;
  if (given.url?.startsWith('https://refused.')) {
    const errors = { url: ['The url is not public.'] };
    return { status: 422, body: { message: 'The url was refused.', errors } };
  }
  const record = { ...before, ...given };
  const status = service.webhooks.has(record.id) ? 200 : 201;
  service.webhooks.set(record.id, record);
  return { status, body: service.wrap(record) };
}

/** 401, the message of a 403, or undefined for who may do this. */
function authenticate(header: string | undefined, write: boolean): 401 | string | undefined {
  const [, scheme, credential = ''] = /^(Basic|Bearer) (\S+)$/.exec(header ?? '') ?? [];
  if (scheme === 'Bearer') {
    if (credential === TOKEN || (credential === READ_TOKEN && !write)) return undefined;
    return credential === READ_TOKEN || credential === NO_SCOPE_TOKEN ? 'Invalid scope.' : 401;
  }
  const decoded = Buffer.from(credential, 'base64');
  // Not only decodable, but encoded exactly as documented: the key, a colon, nothing after it.
  if (scheme !== 'Basic' || decoded.toString('base64') !== credential) return 401;
  const [key, password, ...rest] = decoded.toString().split(':');
  if (password !== '' || rest.length > 0) return 401;
  if (key === INACTIVE_KEY) return 'The account is inactive.';
  if (key === UNVERIFIED_KEY) return 'The identity of the account is not verified.';
  return key === PRIVATE_KEY || key === SIMULATOR_KEY ? undefined : 401;
}
