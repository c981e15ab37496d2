// A request handler for `/healthz` that answers 503 when the receiver exceeds a threshold.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Probe } from '../claims/probe.js';
import type { DeadLetters } from '../dead-letters/dead-letters.js';
import { RECEIVER_STATS, type ReceiverStats } from '../deliveries/receiver-stats.js';
import { ConfigurationError } from '../errors.js';
import { send } from '../http/send-answer.js';
import { show } from '../misuse.js';
import {
  closingCheck,
  type HealthCheck,
  type HealthReport,
  letterChecks,
  RefusedShare,
  refusedCheck,
  silenceCheck,
  storeCheck,
} from './health-checks.js';
import { type HealthOptions, type HealthRules, healthRules } from './health-options.js';

/** What `receiver()` returns. */
export interface WatchedReceiver {
  readonly inFlight: number;
  readonly deadLetters: DeadLetters | undefined;
}

/**
 * Answers GET with 200, or with 503 if a store cannot be reached, the receiver is closing, or a threshold is exceeded.
 * The JSON is a {@link HealthReport}; nothing in it is personal or comes from outside. Deliveries are those of this
 * process; dead letters are those of all processes that share the store.
 *
 * For monitoring. Give a load balancer a handler without thresholds: with them, forged requests or a silent service would
 * take every process out of rotation at once.
 *
 * @throws {ConfigurationError} for something other than a receiver, and for an invalid option
 * @example
 * app.get('/healthz', health(hooks, { silence: '6h', deadLetters: 100, deadLetterAge: '1d' }));
 */
export function health(
  hooks: WatchedReceiver,
  options: HealthOptions = {},
): (req: IncomingMessage, res: ServerResponse) => void {
  const stats = (hooks as { readonly [RECEIVER_STATS]?: ReceiverStats } | null | undefined)?.[RECEIVER_STATS];
  if (!stats) {
    throw new ConfigurationError(
      `health() was given ${show(hooks)}. Pass what receiver() returned: app.get('/healthz', health(hooks)).`,
    );
  }
  const rules = healthRules(options, hooks.deadLetters !== undefined);
  const report = reporter(stats, hooks.deadLetters, rules);
  return (req, res) => {
    if (typeof res?.writeHead !== 'function') throw new ConfigurationError(NOT_NODE);
    void answer(report, req, res);
  };
}

const NOT_NODE =
  'health() was not given the request and response of Node. In Fastify call reply.hijack(), and pass request.raw and reply.raw.';

/** Returns a function that makes a report and never rejects. */
function reporter(
  stats: ReceiverStats,
  deadLetters: DeadLetters | undefined,
  rules: HealthRules,
): () => Promise<HealthReport> {
  const share = new RefusedShare(rules.window, stats.startedAt);
  const store = new Probe(() => stats.reachStore(), rules);
  // A store can answer although it takes too long to count its letters, so any short call shows whether it does.
  const letterStore = deadLetters && new Probe(() => deadLetters.read('health'), rules);
  const letters = deadLetters && new Probe(() => deadLetters.count(), rules);
  const askStores = async (): Promise<HealthCheck[]> => {
    const [reached, answer, count] = await Promise.all([store.read(), letterStore?.read(), letters?.read()]);
    return [storeCheck(reached), ...(deadLetters ? letterChecks(answer !== undefined, count, rules) : [])];
  };
  return async () => {
    // While the receiver closes, its stores may be closed already.
    const asked = stats.closing ? [] : await askStores();
    const { closing, authenticAt, authentic } = stats;
    const now = performance.now();
    const silentMs = Math.max(now - authenticAt, 0);
    const checks = [
      closingCheck(closing),
      silenceCheck(silentMs, rules),
      refusedCheck(share.since(stats, now), rules),
      ...asked,
    ];
    const failing = checks.some(({ ok }) => !ok);
    return {
      status: closing ? 'closing' : failing ? 'failing' : 'ok',
      lastDelivery: authentic === 0 ? null : new Date(Date.now() - silentMs).toISOString(),
      checks,
    };
  };
}

/** Never rejects. Keeps an answer that other code has sent in the meantime, such as a timeout. */
async function answer(
  makeReport: () => Promise<HealthReport>,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const report = req.method === 'GET' || req.method === 'HEAD' ? await makeReport() : undefined;
  const body = JSON.stringify(report ?? { message: 'Ask for health with GET.' });
  send(req, res, {
    status: report ? (report.status === 'ok' ? 200 : 503) : 405,
    headers: {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': String(Buffer.byteLength(body)),
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      ...(!report && { Allow: 'GET, HEAD' }),
    },
    body,
  });
}
