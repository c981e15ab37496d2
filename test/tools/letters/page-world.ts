// An app with a receiver and its dead-letter page, asked over real HTTP with any header and any path.
import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type IncomingMessage, type RequestListener } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import express, { type Request, type RequestHandler } from 'express';
import {
  type DeadLetterStore,
  memoryDeadLetters,
  type Receiver,
  type ReceiverOptions,
  receiver,
} from 'payment-webhooks';
import { type DeadLetterPageOptions, deadLetterPage } from 'payment-webhooks/ops';
import { z } from 'zod';
import { fixtures } from '../../../src/fixtures/fixture.js';
import { listening } from '../../setup/afterwards.js';
import { type CapturedLog, captureLog } from '../../setup/captured-log.js';
import { KEY, receivable } from '../../setup/delivery.js';
import { lettersOf } from '../../setup/faulty-dead-letters.js';

export interface PageAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer.
  readonly json: any;
}

export interface Ask {
  readonly method?: string;
  /** One that is to be left out is given as an empty text. */
  readonly headers?: Readonly<Record<string, string>>;
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

export const USER = 'ada';
/** As an app might: somebody who sends the right token. */
export const authorize: DeadLetterPageOptions['authorize'] = (req) =>
  req.headers.authorization === 'Bearer good' && USER;
export const SIGNED_IN = { authorization: 'Bearer good' };

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
  const port = await listening(app?.(router) ?? mounted());
  const keep = async (event: object = fixtures.event('refund.made', { refund: { id: 'r-1' } })) => {
    const before = (await lettersOf(hooks)).length;
    await hooks.receive(receivable(event));
    const { id } = (await lettersOf(hooks))[before] ?? {};
    if (id === undefined) throw new Error('nothing was kept');
    return id;
  };
  return { hooks, log, port, keep, ask: (path, ask) => send(port, path, ask) };
}

export async function send(port: number, path: string, ask: Ask = {}): Promise<PageAnswer> {
  const { method, headers, body } = ask;
  const isObject = typeof body === 'object' && !Buffer.isBuffer(body);
  const bytes = isObject ? JSON.stringify(body) : body;
  const sent = {
    ...SIGNED_IN,
    ...(isObject && { 'content-type': 'application/json' }),
    ...(bytes !== undefined && { 'content-length': String(Buffer.byteLength(bytes)) }),
    ...headers,
  };
  const request = http.request({
    ...{ port, path, method: method ?? (body === undefined ? 'GET' : 'POST'), agent: false },
    headers: Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== '')),
  });
  // A refused body may still be on its way when the answer is there.
  request.on('error', () => {});
  request.end(bytes);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const text = await readText(response);
  const isJson = /\/json;/.test(response.headers['content-type'] ?? '');
  const json = isJson && text !== '' ? JSON.parse(text) : undefined;
  return { status: response.statusCode ?? 0, headers: response.headers, text, json };
}

/** The text of a request that is written to a bare socket. */
export function postOf(path: string, body: string, length = body.length): string {
  const headers = [
    ...['Host: localhost', 'Authorization: Bearer good', 'Connection: close'],
    ...['Content-Type: application/json', `Content-Length: ${length}`],
  ];
  return [`POST ${path} HTTP/1.1`, ...headers, '', body].join('\r\n');
}

/** A store with the letters of these refunds, which an earlier deployment had not declared. */
export async function keptRefunds(...ids: readonly string[]): Promise<DeadLetterStore> {
  const deadLetters = memoryDeadLetters();
  const hooks = receiver({ privateKey: KEY, logger: false, deadLetters });
  for (const id of ids)
    await hooks.receive(receivable({ ...fixtures.event('refund.made', { refund: { id } }), id }));
  return deadLetters;
}

/** The events of a deployment that declares them. */
export const REFUNDS = { 'refund.made': z.looseObject({}) };

/** The lines of an NDJSON answer. */
export function linesOf({ text }: PageAnswer): Record<string, never>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}
