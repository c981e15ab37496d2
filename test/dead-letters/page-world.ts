// An app with a receiver and its dead-letter page, asked over real HTTP with any header and any path.
import http, { type IncomingHttpHeaders, type OutgoingHttpHeaders, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach } from '@jest/globals';
import express, { type Request, type RequestHandler } from 'express';
import { memoryDeadLetters, type Receiver, type ReceiverOptions, receiver } from 'payment-webhooks';
import { type DeadLetterPageOptions, deadLetterPage } from 'payment-webhooks/ops';
import { fixtures } from '../../src/fixtures/fixture.js';
import { type CapturedLog, captureLog } from '../setup/captured-log.js';
import { KEY, receivable } from '../setup/delivery.js';
import { lettersOf } from '../setup/faulty-dead-letters.js';

export interface PageAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer.
  readonly json: any;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** An object is sent as JSON. */
  readonly body?: object | string | Buffer;
}

export interface PageWorld {
  readonly hooks: Receiver;
  readonly log: CapturedLog;
  readonly port: number;
  /** A request with the path as it is, to the page or anywhere else. */
  readonly ask: (path: string, ask?: Ask) => Promise<PageAnswer>;
  /** Keeps an event as a dead letter, and tells its id. */
  readonly keep: (event?: object) => Promise<string>;
}

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

export const USER = 'ada';
/** As an app might: somebody who sends the right token. */
export const authorize: DeadLetterPageOptions['authorize'] = (req) =>
  req.headers.authorization === 'Bearer good' && USER;
export const SIGNED_IN = { authorization: 'Bearer good' };

export async function listen(listener: RequestListener): Promise<number> {
  const server = http.createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  closers.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  );
  return (server.address() as AddressInfo).port;
}

export interface WorldOptions {
  readonly receiver?: ReceiverOptions;
  readonly page?: Partial<DeadLetterPageOptions<Request>>;
  /** What the app does with the page; at `/ops` by default. */
  readonly app?: (page: RequestHandler) => RequestListener;
  readonly before?: readonly RequestHandler[];
}

export async function pageWorld({
  receiver: given,
  page,
  app,
  before = [],
}: WorldOptions = {}): Promise<PageWorld> {
  const log = captureLog();
  const hooks = receiver({
    privateKey: KEY,
    logger: log.logger,
    deadLetters: memoryDeadLetters(),
    ...given,
  }) as Receiver;
  const router = deadLetterPage<Request>(hooks, { authorize, ...page });
  const mounted = () => {
    const own = express();
    for (const handler of before) own.use(handler);
    return own.use('/ops', router);
  };
  const port = await listen(app?.(router) ?? mounted());
  const keep = async (event: object = fixtures.event('refund.made', { refund: { id: 'r-1' } })) => {
    const known = new Set((await lettersOf(hooks)).map(({ id }) => id));
    await hooks.receive(receivable(event));
    const fresh = (await lettersOf(hooks)).find(({ id }) => !known.has(id));
    if (!fresh) throw new Error('nothing was kept');
    return fresh.id;
  };
  return { hooks, log, port, keep, ask: (path, ask) => send(port, path, ask) };
}

export function send(
  port: number,
  path: string,
  { method, headers = {}, body }: Ask = {},
): Promise<PageAnswer> {
  const isJson = typeof body === 'object' && !Buffer.isBuffer(body);
  const bytes = isJson ? JSON.stringify(body) : body;
  const sent = {
    ...SIGNED_IN,
    ...(isJson && { 'content-type': 'application/json' }),
    ...(bytes !== undefined && { 'content-length': String(Buffer.byteLength(bytes)) }),
    ...headers,
  };
  return new Promise((resolve, reject) => {
    const options = {
      port,
      path,
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      agent: false as const,
    };
    const request = http.request(
      { ...options, headers: withoutEmpty(sent) as OutgoingHttpHeaders },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const json =
            /json;/.test(response.headers['content-type'] ?? '') &&
            !/ndjson/.test(response.headers['content-type'] ?? '');
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            json: json && text !== '' ? JSON.parse(text) : undefined,
          });
        });
      },
    );
    request.on('error', reject);
    request.end(bytes);
  });
}

/** A header that is to be left out is given as an empty text. */
function withoutEmpty(
  headers: Record<string, string | readonly string[]>,
): Record<string, string | readonly string[]> {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''));
}

/** The lines of an NDJSON answer. */
export function linesOf({ text }: PageAnswer): Record<string, never>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}
