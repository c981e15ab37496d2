// A receiver that tells a test what it did: alone, or behind a real server in an app of the framework that the test names.
import { createServer, type IncomingHttpHeaders, request, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import express4 from 'express4';
import {
  type DeadLetter,
  type DeadLetterFilter,
  type DeadLetterStore,
  type DeliveryRecord,
  type EventSchemas,
  type Receiver,
  type ReceiverOptions,
  receiver,
} from 'payment-webhooks';
import { listening } from './afterwards.js';
import { type CapturedLog, captureLog } from './captured-log.js';
import { delivery, KEY, type SentDelivery } from './delivery.js';
import { lettersOf } from './faulty-dead-letters.js';
import { until } from './waiting.js';

export type Framework = 'Express 4' | 'Express 5' | 'node:http' | 'fetch';

// Mutation testing repeats every test for every mutant; there one framework has to do.
const one = process.env.ONE_FRAMEWORK !== undefined;
export const frameworks: readonly Framework[] = one
  ? ['Express 5', 'fetch']
  : ['Express 4', 'Express 5', 'node:http', 'fetch'];
export const expresses = frameworks.filter((framework) => framework.startsWith('Express'));
/** Those that hand over the connection of Node. */
export const onNode = frameworks.filter((framework) => framework !== 'fetch');

export interface Setup {
  readonly framework?: Framework;
  /** What an Express app has mounted before the receiver. */
  readonly before?: (framework: typeof express) => express.RequestHandler[];
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Parsed: every answer is JSON. */
  readonly body: unknown;
}

type Letters = DeadLetterStore | undefined;

/** What is not the server's: the same in every framework. */
export interface Receiving<Kept extends Letters = Letters> {
  readonly hooks: Receiver<{}, {}, Kept>;
  /** Ids of the events that reached the handler that stands in when the test gives none. */
  readonly handled: string[];
  readonly records: DeliveryRecord[];
  readonly log: CapturedLog;
  /** A good delivery, or one with another body or headers. */
  post(sent?: Partial<SentDelivery>): Promise<Reply>;
  /** Delivers each of them, events or texts, when the one before is answered: `200 processed`, `503 IN_PROGRESS`. */
  answers(...contents: readonly unknown[]): Promise<string[]>;
  letters(filter?: DeadLetterFilter): Promise<DeadLetter[]>;
  /** The next version of the app, with the options that do not change: the stores that the test gave are the same. */
  deploy<const Events extends EventSchemas = {}>(changed?: ReceiverOptions<Events>): Receiving<Kept>;
}

export interface Endpoint<Kept extends Letters = Letters> extends Receiving<Kept> {
  readonly server: Server;
  readonly port: number;
  /** Waits until the server knows that every sender has left. */
  senderLeft(): Promise<void>;
}

const answered = (outcome: string) => ({ status: 200, body: { received: true, outcome } });
export const processed = answered('processed');
export const duplicate = answered('duplicate');
export const ignored = answered('ignored');
export const kept = answered('kept');

const refused = (status: number, code: string) => ({ status, body: { code } });
export const failed = refused(500, 'HANDLER_FAILED');
export const timedOut = refused(503, 'HANDLER_TIMEOUT');
export const inProgress = refused(503, 'IN_PROGRESS');
export const lost = refused(503, 'CLAIM_LOST');
export const unavailable = refused(503, 'STORE_UNAVAILABLE');

/** Without a server: `post()` is `receive()`. */
export function startReceiver<const Events extends EventSchemas = {}, Kept extends Letters = Letters>(
  options: ReceiverOptions<Events, {}, Kept> = {},
): Receiving<Kept> {
  const handled: string[] = [];
  const records: DeliveryRecord[] = [];
  const log = captureLog();
  const hooks = receiver<Events, {}, Kept>({
    privateKey: KEY,
    logger: log.logger,
    observer: { settled: (record) => void records.push(record) },
    ...options,
  }) as unknown as Receiver<{}, {}, Kept>;
  // What was warned of at construction is not what a test of deliveries looks for.
  log.text.length = 0;
  if (!options.handlers) hooks.on('*', (event) => void handled.push(event.id));
  const post = async (sent: Partial<SentDelivery> = {}): Promise<Reply> => {
    const { body: rawBody, headers } = { ...delivery(), ...sent };
    const answer = await hooks.receive({ rawBody, headers });
    const lowerCase = Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), value]);
    return {
      status: answer.status,
      headers: Object.fromEntries(lowerCase),
      body: JSON.parse(answer.body || 'null'),
    };
  };
  return {
    ...{ hooks, handled, records, log, post },
    answers: (...contents) => answersInTurn(post, contents),
    letters: (filter) => lettersOf(hooks, filter),
    deploy: (changed) => startReceiver({ ...options, ...changed } as ReceiverOptions<{}, {}, Kept>),
  };
}

async function answersInTurn(post: Receiving['post'], contents: readonly unknown[]): Promise<string[]> {
  const told: string[] = [];
  for (const content of contents) {
    const { status, body } = await post(isSigned(content) ? content : delivery(content));
    const { received, outcome, code } = body as { received?: true; outcome?: string; code?: string };
    told.push(`${status} ${received ? outcome : code}`);
  }
  return told;
}

function isSigned(content: unknown): content is SentDelivery {
  return typeof content === 'object' && content !== null && 'headers' in content;
}

/** Closed by itself when the test is over. */
export async function startEndpoint<const Events extends EventSchemas = {}, Kept extends Letters = Letters>(
  options: ReceiverOptions<Events, {}, Kept> = {},
  setup: Setup = {},
): Promise<Endpoint<Kept>> {
  const receiving = startReceiver(options);
  const server = createServer(appOf(receiving.hooks as Receiver, setup));
  const port = await listening(server);
  const post = (sent: Partial<SentDelivery> = {}) => send(port, { ...delivery(), ...sent });
  const answers = (...contents: readonly unknown[]) => answersInTurn(post, contents);
  const connections = () =>
    new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));
  const senderLeft = () => until(async () => (await connections()) === 0);
  return { ...receiving, server, port, post, answers, senderLeft };
}

function appOf(hooks: Receiver, { framework = 'Express 5', before }: Setup) {
  if (framework === 'node:http') return hooks;
  if (framework === 'fetch') return getRequestListener(hooks.fetch, { overrideGlobalObjects: false });
  const make = framework === 'Express 4' ? (express4 as unknown as typeof express) : express;
  const app = make();
  for (const middleware of before?.(make) ?? []) app.use(middleware);
  app.post('/hooks', hooks);
  return app;
}

/** One POST on a connection of its own. */
export function send(port: number, { body, headers }: SentDelivery, path = '/hooks'): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', path, method: 'POST', agent: false, headers };
    const outgoing = request(options, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString() || 'null';
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: JSON.parse(text) });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
