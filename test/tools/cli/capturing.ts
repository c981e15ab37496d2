// `capture` on a free port, in this process, until the test is over; and deliveries to it as a stranger sends them.
import http from 'node:http';
import { until } from '../../setup/waiting.js';
import { afterwards } from '../simulator/world.js';
import { runCli, startCli } from './run-cli.js';

export const KEY = 'pri_live_4f9d21c07ab8';
export const HOST = 'quick-fox.trycloudflare.com';

export async function capturing(argv: readonly string[] = [], env: Record<string, string> = {}) {
  const keys = argv.includes('--key-file') ? {} : { SERVICE_PRIVATE_KEY: KEY };
  const { printed, ended } = startCli(['capture', '--port', '0', ...argv], { env: { ...keys, ...env } });
  const stop = () => {
    process.emit('SIGTERM');
    return ended;
  };
  afterwards(stop);
  const url = () => /http:\/\/127\.0\.0\.1:\d+/.exec(printed.stdout + printed.stderr)?.[0];
  await Promise.race([ended, until(() => url() !== undefined)]);
  const baseUrl = url() ?? `nowhere: ${printed.stderr}`;
  return {
    ...{ baseUrl, printed, ended, stop },
    port: Number(new URL(baseUrl).port),
    ask: (...words: string[]) => runCli(words, { env: { SERVICE_SIM_URL: baseUrl } }),
  };
}

export interface Sent {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly body?: string | Buffer;
}

/** A request as it comes through a tunnel, with the `Host` that the stranger used. */
export function strange(port: number, { path = '/hooks', method = 'POST', headers = {}, body = '' }: Sent) {
  return new Promise<{
    status: number;
    headers: http.IncomingHttpHeaders;
    rawHeaders: string[];
    body: Buffer;
  }>((resolve, reject) => {
    const isChunked = 'Transfer-Encoding' in headers;
    const length = isChunked ? {} : { 'Content-Length': Buffer.byteLength(body) };
    const options = { port, path, method, headers: { Host: HOST, ...length, ...headers } };
    // A connection each: one that is kept alive may be closed by a busy server as it is used again.
    const request = http.request({ host: '127.0.0.1', agent: false, ...options }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode: status = 0, headers, rawHeaders } = response;
        resolve({ status, headers, rawHeaders, body: Buffer.concat(chunks) });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

let count = 0;

/** An event as the service might send it, with an id of its own. */
export function eventBody(changes: object = {}): string {
  count += 1;
  const event = { id: `evt_${count}`, event_name: 'transaction.paid', sandbox: false };
  return JSON.stringify({ ...event, payload: { transaction: { id: 'tr_1', amount: '12.50' } }, ...changes });
}
