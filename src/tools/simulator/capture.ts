// `capture`: records what the real service delivers, passes it on to the app, and the app's answer back.
import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ConfigurationError } from '../../errors.js';
import { isEventName, isIdentifier } from '../../events/envelope.js';
import { withoutCredentials } from '../../http/headers.js';
import { readBody } from '../../http/read-body.js';
import { jsonAnswer, send } from '../../http/send-answer.js';
import type { BodyFailure } from '../../http/sized-body.js';
import { HttpError } from '../web/http-error.js';
import { hostHeaders, hostName } from '../web/request.js';
import { urlError } from './address/targets.js';
import { HOP_BY_HOP } from './delivery/apply-fault.js';
import { headerPairs } from './delivery/send-request.js';
import {
  type AttemptResult,
  type HeaderPair,
  newDelivery,
  type SignatureFinding,
  type SimulatedAttempt,
  type SimulatedEvent,
} from './delivery/simulated-delivery.js';
import type { FirstHandler, Service } from './service.js';
import type { Capture, SimulatorOptions } from './settings.js';
import { type Simulator, serve } from './simulator.js';
import type { SimulatorStore } from './simulator-store.js';

/** More than the receiver accepts: a body that is too large for the app is recorded with its answer. */
const MAX_BODY = 1_000_000;
const MAX_AT_ONCE = 64;
/** Of bodies, headers and answers. Strangers can send as much as they like. */
const MAX_BYTES_KEPT = 64_000_000;
const HEADER_BYTES = 100;
/** More than the receiver takes, so that its own answer comes first. */
const TIMEOUT_MS = 15_000;

interface CaptureOptions extends Omit<Capture, 'inspect'> {
  readonly find: (headers: readonly HeaderPair[], body: Buffer) => SignatureFinding;
}

/** @throws {ConfigurationError} if the simulator cannot start, or must not connect to `forward` */
export async function startCapture(
  options: Pick<SimulatorOptions, 'port' | 'allowHosts' | 'logger'>,
  { find, ...given }: CaptureOptions,
): Promise<Simulator> {
  let running: Service | undefined;
  const capture: Capture = {
    ...given,
    inspect({ headers = [], body }, response) {
      const finding = find(headers, body);
      const answer = response && { ...response, headers: masked(response.headers) };
      return { finding, headers: masked(headers, finding.header), response: answer };
    },
  };
  const first: FirstHandler = (service) => {
    running = service;
    return captureHandler(service, capture);
  };
  const settings = { ...options, clock: 'real', retry: 'off', timeout: TIMEOUT_MS } as const;
  const simulator = await serve(settings, { capture, first });
  const { forward } = capture;
  const problem = forward && (urlError(forward) ?? (await running?.targets.refusal(forward)));
  if (!problem) return simulator;
  await simulator.close();
  throw new ConfigurationError(problem.replace(/ To allow it, .*/, ''));
}

/** Takes every POST to the capture path, whatever its `Host`: that of a tunnel. All else keeps to the rules of the page. */
function captureHandler(service: Service, capture: Capture): ReturnType<FirstHandler> {
  let underway = 0;
  return async (request, response, next) => {
    const [path, query] = (request.url ?? '').split(/\?(.*)/s);
    const isCaptured = path === capture.path && request.method === 'POST';
    if (!isCaptured) return next(isProxied(request, service) ? PROXIED : undefined);
    if (underway >= MAX_AT_ONCE) return refuse(request, response, 503, 'Too many deliveries at once.');
    underway += 1;
    const ended = new Promise((resolve) => response.once('close', resolve));
    try {
      const body = await bodyOf(request);
      if (typeof body === 'string') {
        refuse(request, response, ...FAILURES[body]);
        return;
      }
      const event = { ...namesIn(body), body, headers: headerPairs(request.rawHeaders) };
      const delivery = recordIn(service, event);
      const url = new URL(capture.forward ?? service.baseUrl + path);
      if (query && url.search === '') url.search = query;
      await service.deliverer.passOn(delivery, url.href, 'due', (result, bytes) =>
        passBack(request, response, result, bytes),
      );
      // After a fault of this program. The service must never take it for an acknowledgement.
      if (!response.headersSent) refuse(request, response, 500, 'The delivery was not passed on.');
      dropOldest(service.store);
      await ended;
      capture.recorded?.(delivery);
    } catch (error) {
      next(error);
    } finally {
      underway -= 1;
    }
  };
}

type HttpFailure = readonly [status: number, message: string];

const FAILURES: Readonly<Record<BodyFailure, HttpFailure>> = {
  aborted: [400, 'The body is incomplete.'],
  'other length': [400, 'The length of the body differs from its Content-Length.'],
  text: [400, 'The body is not bytes.'],
  timeout: [408, 'The body took too long to arrive.'],
  'too large': [413, 'The body is larger than 1 MB.'],
  'no memory': [503, 'There is no memory for the body.'],
  'not loaded': [503, 'The body cannot be read now.'],
};

function refuse(request: IncomingMessage, response: ServerResponse, ...[status, message]: HttpFailure): void {
  send(request, response, jsonAnswer(status, { message }, { Connection: 'close' }));
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | BodyFailure> {
  const declared = request.headers['content-length'];
  const length = declared === undefined ? undefined : Number(declared);
  if (Number(length) > MAX_BODY) return 'too large';
  if (length === 0) return Buffer.alloc(0);
  return readBody(request, { length, limit: MAX_BODY, timeout: TIMEOUT_MS });
}

const PROXIED = new HttpError(
  403,
  'Forbidden: this request came through a proxy or a tunnel, which may reach only the capture path.',
);
const BY_PROXY =
  /^(?:forwarded|via|cf-.*|x-(?:forwarded|real|original)-.*|(?:x-|true-)?(?:cluster-)?client-ip)$/;

/** A tunnel may replace the `Host` by that of this machine. Browsers speak HTTP/1.1, and have none of these headers. */
function isProxied(request: IncomingMessage, { settings }: Service): boolean {
  const [host = ''] = hostHeaders(request);
  if (settings.allowHosts.includes(hostName(host.replace(/:\d+$/, '')) ?? '')) return false;
  return request.httpVersion !== '1.1' || Object.keys(request.headers).some((name) => BY_PROXY.test(name));
}

/** Bytes that are no event are recorded too. */
function namesIn(body: Buffer): Pick<SimulatedEvent, 'id' | 'name' | 'sandbox'> {
  let fields: Record<string, unknown> = {};
  try {
    fields = Object(JSON.parse(body.toString()));
  } catch {}
  const { id, event_name: name, sandbox } = fields;
  return {
    id: isIdentifier(id) ? id : `sha256:${hash('sha256', body)}`,
    name: typeof name === 'string' && isEventName(name) ? name : 'not an event',
    sandbox: sandbox === true,
  };
}

/** The delivery of this event: the one that is known, because it was sent again, or a new one. */
function recordIn({ store, randomness, scheduler, baseUrl }: Service, event: SimulatedEvent) {
  const known = store.allDeliveries().findLast((one) => one.event.id === event.id);
  if (!known) {
    const id = randomness.uuid();
    const fields = { id, event, webhookId: '', url: baseUrl, createdAt: scheduler.now() };
    return newDelivery({ ...fields, plannedFault: undefined });
  }
  // The same bytes take memory once.
  const body = known.event.body.equals(event.body) ? known.event.body : event.body;
  known.event = { ...event, body };
  return known;
}

/** The newest attempts stay, of 500 deliveries at most. One in progress is still answered. */
export function dropOldest(store: SimulatorStore): void {
  let kept = 0;
  for (const delivery of store.allDeliveries().reverse()) {
    const { event, attempts } = delivery;
    kept += event.body.byteLength;
    const isTooMuch = (attempt: SimulatedAttempt) => {
      kept += bytesOf(attempt, event);
      return kept > MAX_BYTES_KEPT;
    };
    const dropped = attempts.findLastIndex(isTooMuch) + 1;
    if (dropped > 0 && dropped === attempts.length) store.remove(delivery);
    else attempts.splice(0, dropped);
  }
}

/** Its share of the memory. A header takes more than its characters, so that thousands of short ones count. */
function bytesOf({ body, url, headers, response }: SimulatedAttempt, event: SimulatedEvent): number {
  const own = body === event.body ? 0 : body.byteLength;
  const answer = response?.headers ?? [];
  return [...headers, ...answer].reduce(
    (sum, [name, value]) => sum + name.length + value.length + HEADER_BYTES,
    own + url.length + (response?.body.length ?? 0),
  );
}

/** The app's answer, or one that makes the service try again. */
function passBack(
  request: IncomingMessage,
  response: ServerResponse,
  { response: answer, error }: AttemptResult,
  body: Buffer,
): void {
  if (!answer) {
    const isLate = error?.code === 'TIMEOUT';
    refuse(request, response, isLate ? 504 : 502, `The app did not answer${isLate ? ' in time' : ''}.`);
    return;
  }
  const headers = answer.headers.filter(([name]) => !HOP_BY_HOP.test(name));
  const hasBody = answer.status !== 204 && answer.status !== 304;
  if (hasBody) headers.push(['Content-Length', String(body.byteLength)]);
  try {
    response.writeHead(answer.status, headers.flat());
    response.end(hasBody ? body : undefined);
  } catch {
    // Node refuses to write what the app has sent.
    response.destroy();
  }
}

/** Other signatures stay, because one has to see why they do not match. */
function masked(headers: readonly HeaderPair[], signatureHeader: string | null = null): HeaderPair[] {
  return headers.map(([name, value]) => {
    const isSignature =
      name === signatureHeader || (/signature|hmac/i.test(name) && !/key|secret|token/i.test(name));
    const isSafe = isSignature || Object.keys(withoutCredentials({ [name.toLowerCase()]: value })).length > 0;
    return [name, isSafe ? value : '(masked)'];
  });
}
