// A request handler for `/healthz` that answers 503 when a threshold of the receiver is passed.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Probe } from '../claims/probe.js';
import type { DeadLetters } from '../dead-letters/dead-letters.js';
import type { DeadLetterCount } from '../dead-letters/letter-queries.js';
import { ConfigurationError, show } from '../errors.js';
import { send } from '../receiver/respond.js';
import { RECEIVER_STATS, type Reachable, type ReceiverStats } from '../telemetry/receiver-stats.js';
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
 * Answers GET with 200, or with 503 when a store cannot be reached, the receiver is closing, or a threshold of the options
 * is passed. The JSON is a {@link HealthReport}; nothing in it is personal or comes from outside. Deliveries are those of
 * this process; dead letters are those of all processes that share the store.
 *
 * For a monitor. A load balancer may ask one without thresholds: with them, what a stranger sends, or silence at the
 * service, would take every process out of service at once.
 *
 * @throws {ConfigurationError} for what is no receiver, and for an option that does not exist or cannot be right
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
      `health() was given ${show(hooks)}. Give what receiver() returned: app.get('/healthz', health(hooks)).`,
    );
  }
  const rules = healthRules(options, hooks.deadLetters !== undefined);
  const report = new Health(stats, hooks.deadLetters, rules);
  return (req, res) => {
    if (typeof res?.writeHead !== 'function') throw new ConfigurationError(NOT_NODE);
    void answer(report, req, res);
  };
}

const NOT_NODE =
  'health() was not given the request and response of Node. In Fastify call reply.hijack(), and pass request.raw and reply.raw.';

class Health {
  readonly #stats: ReceiverStats;
  readonly #rules: HealthRules;
  readonly #share: RefusedShare;
  readonly #store: Probe<Reachable>;
  /** Reaching the store of letters and counting them is one question. */
  readonly #letters: Probe<DeadLetterCount> | undefined;

  constructor(stats: ReceiverStats, deadLetters: DeadLetters | undefined, rules: HealthRules) {
    this.#stats = stats;
    this.#rules = rules;
    this.#share = new RefusedShare(rules.window, stats.startedAt);
    this.#store = new Probe(() => stats.reachStore(), rules);
    this.#letters = deadLetters && new Probe(() => deadLetters.count(), rules);
  }

  /** Never rejects. */
  async report(): Promise<HealthReport> {
    // The stores may be closed before the receiver has settled.
    const asked = this.#stats.closing ? [] : await this.#askStores();
    const { closing, authenticAt, authentic } = this.#stats;
    const now = performance.now();
    const silentMs = Math.max(now - authenticAt, 0);
    const checks = [
      closingCheck(closing),
      silenceCheck(silentMs, this.#rules),
      refusedCheck(this.#share.since(this.#stats, now), this.#rules),
      ...asked,
    ];
    const failing = checks.some(({ ok }) => !ok);
    return {
      status: closing ? 'closing' : failing ? 'failing' : 'ok',
      lastDelivery: authentic === 0 ? null : new Date(Date.now() - silentMs).toISOString(),
      checks,
    };
  }

  async #askStores(): Promise<HealthCheck[]> {
    const [reached, count] = await Promise.all([this.#store.read(), this.#letters?.read()]);
    return [storeCheck(reached), ...(this.#letters ? letterChecks(count, this.#rules) : [])];
  }
}

/** Never rejects. An answer that other code has given meanwhile, such as a timeout, stays. */
async function answer(health: Health, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const asked = req.method === 'GET' || req.method === 'HEAD';
  const report = asked ? await health.report() : undefined;
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
