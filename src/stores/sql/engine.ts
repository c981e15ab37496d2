// The engine of the SQL stores: a claim is a row, and so are the writes of a handler.

import { lockOf } from '../../claims/lock-of-claim.js';
import type {
  Claim,
  ClaimRequest,
  ClaimResult,
  Completion,
  ForgetResult,
  IdempotencyStore,
  WithOnce,
} from '../../contracts/idempotency-store.js';
import { newToken, type Owner } from '../../contracts/token.js';
import { Batches } from './batches.js';
import type { Connections } from './connections.js';
import {
  type Answer,
  type ClaimParameters,
  type CompletionParameters,
  claimParameters,
  type Dialect,
} from './dialect.js';
import { type CallsOfHandler, type NewOnceRow, OnceCalls, type OnceRow } from './once.js';
import { OnceSyncCalls } from './once-sync.js';

export interface EngineOptions {
  readonly connections: Connections;
  readonly dialect: Dialect;
  readonly retentionMs: number;
}

/** A store whose events are in a table. */
export interface TableStore<Extra extends object> extends IdempotencyStore<Extra> {
  /** Creates the table and its index unless they exist. Any number of processes may call it at once. */
  migrate(): Promise<void>;
  /**
   * Deletes expired rows, a thousand at a time, and resolves with their number. In MySQL, concurrent calls may count a row
   * twice, and leave some to the next call.
   */
  prune(): Promise<number>;
  /**
   * Rejects unless events can be claimed: it claims a key that no event has, and deletes its row. In SQLite it takes the lock
   * for a write and changes nothing, so it does not see a full disk or damaged pages.
   */
  ping(): Promise<void>;
}

type Engine = EngineOptions & ReturnType<typeof sharedCalls>;

/** The calls that deliveries share statements for. */
function sharedCalls({ connections: { run }, dialect }: EngineOptions) {
  const claims = new Batches<ClaimParameters, Answer>({
    ...{ step: 'claim', confirmed: { status: 'claimed', attempt: 1, finished: [] } },
    together: (calls) => dialect.claimTogether(run, calls),
    alone: (call, isKnown) => dialect.claim(run, call, isKnown),
  });
  const completions = new Batches<CompletionParameters, boolean | readonly string[]>({
    ...{ step: 'complete', confirmed: true },
    together: (calls) => dialect.completeTogether(run, calls),
    alone: (call) =>
      call.rows.length > 0 ? dialect.completeAfter(run, call) : dialect.complete(run, call, call.keepMs),
  });
  return { claims, completions };
}

export function sqlEngine<Transaction>(given: EngineOptions): TableStore<WithOnce<Transaction>> {
  const { connections, dialect, retentionMs } = given;
  const { run } = connections;
  const options = { ...given, ...sharedCalls(given) };
  return {
    scope: 'shared',
    retentionMs,
    claim: (key, request) => claimRow<Transaction>(options, key, request),
    completedWith: (key) => dialect.completedWith(run, key),
    forget: (key) => forget(options, key),
    lock: (key, leaseMs) => lockOf((request) => claimRow(options, key, request), leaseMs),
    migrate: () => connections.migrate(dialect.migration),
    prune: async () => {
      for (let sum = 0; ; ) {
        const { pruned, more } = await dialect.prune(run, retentionMs);
        sum += pruned;
        if (!more) return sum;
      }
    },
    ping: () => connections.ping((runOnOne) => dialect.ping(runOnOne)),
  };
}

type RowClaim<Transaction> = Claim<WithOnce<Transaction>> & { forget(): Promise<boolean> };
type RowResult<Transaction> =
  | Exclude<ClaimResult, { status: 'claimed' }>
  | { readonly status: 'claimed'; readonly claim: RowClaim<Transaction> };

/** Every step of a claim commits by itself. */
async function claimRow<Transaction>(
  options: Engine,
  key: string,
  request: ClaimRequest,
): Promise<RowResult<Transaction>> {
  const { connections, dialect, retentionMs } = options;
  const { run } = connections;
  const owner = claimParameters(key, request, retentionMs);
  const answer = await options.claims.call(owner);
  if (answer.status !== 'claimed') return answer;
  const { attempt, finished } = answer;
  const handlers: CallsOfHandler<WithOnce<Transaction>>[] = [];
  const claim: RowClaim<Transaction> = {
    attempt,
    finished,
    ...(connections.once && {
      forHandler: (name: string, beforeCommit?: () => void) => {
        const calls = onceOf<Transaction>(options, name, () => newRow(owner, name), beforeCommit);
        handlers.push(calls);
        return calls;
      },
    }),
    renew: (leaseMs) => dialect.renew(run, owner, leaseMs, Math.max(leaseMs, retentionMs)),
    complete: () => complete(options, owner, handlers),
    release: (names) => dialect.release(run, owner, retentionMs, names),
    forget: () => dialect.forget(run, owner),
  };
  return { status: answer.status, claim };
}

/** What the store of a synchronous driver says of `once` is told by its own type. */
function onceOf<Transaction>(
  { connections, dialect }: EngineOptions,
  name: string,
  row: NewOnceRow,
  beforeCommit: (() => void) | undefined,
): CallsOfHandler<WithOnce<Transaction>> {
  const { once } = connections;
  if (typeof once !== 'object') return new OnceCalls(name, { connections, dialect }, row, beforeCommit);
  const calls = new OnceSyncCalls<Transaction>(name, { connections: once, dialect }, row, beforeCommit);
  return calls as CallsOfHandler<object> as CallsOfHandler<WithOnce<Transaction>>;
}

/** Longer than any letter of the event is kept, which a replay could otherwise process again. */
const DAY_MS = 86_400_000;

function newRow({ key, fingerprint, keepMs }: ClaimParameters, name: string): OnceRow {
  return { key: `${key} ${name}`, token: newToken(), fingerprint, keepMs: keepMs + DAY_MS };
}

async function complete(
  { completions, retentionMs }: Engine,
  owner: Owner,
  handlers: readonly Pick<CallsOfHandler<object>, 'name' | 'row' | 'skipped'>[],
): Promise<Completion> {
  const rows = handlers.flatMap(({ row }) => row ?? []);
  const { skipped } = handlers.find((handler) => handler.skipped !== undefined) ?? {};
  const fingerprint = rows.length > 0 ? skipped : undefined;
  const answer = await completions.call({ ...owner, keepMs: retentionMs, rows, fingerprint });
  if (typeof answer === 'boolean') return answer;
  const missing = new Set(answer);
  const uncommitted = handlers.filter(({ row }) => row && missing.has(row.key)).map(({ name }) => name);
  return { uncommitted };
}

async function forget({ connections, dialect }: EngineOptions, key: string): Promise<ForgetResult> {
  const answer = await dialect.forgetEvent(connections.run, key);
  if (typeof answer === 'number') return { status: 'in_progress', retryAfterMs: Math.max(answer, 1) };
  if (answer.length === 0) return { status: 'unknown' };
  const rows = answer.filter((forgotten) => forgotten !== key);
  return { status: 'forgotten', handlers: rows.map((row) => row.slice(key.length + 1)).sort() };
}
