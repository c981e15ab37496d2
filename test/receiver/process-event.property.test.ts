import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type ClaimResult,
  type IdempotencyStore,
  memoryStore,
  type ReceiverOptions,
  receiver,
} from 'payment-webhooks';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery, KEY, type SentDelivery } from '../setup/delivery.js';
import {
  answers,
  type Fault,
  type FaultyStore,
  faultyStore,
  hangs,
  rejects,
  repliesAfter,
  repliesNever,
  throws,
} from '../setup/faulty-store.js';

const LEASE = 40;
const times: ReceiverOptions = {
  lease: LEASE,
  timeout: 20,
  storeTimeout: 10,
  maxHandlerTime: 120,
  logger: false,
};

const faults: Record<string, Fault | undefined> = {
  none: undefined,
  throws,
  rejects,
  hangs,
  repliesNever,
  late: repliesAfter(18),
  rubbish: answers({ value: { status: 'perhaps' } }),
};
const fault = fc.oneof(
  { weight: 3, arbitrary: fc.constant('none') },
  fc.constantFrom(...Object.keys(faults)),
);

/** One delivery of the event, to a process of its own. */
const step = fc.record({
  /** Milliseconds after the one before. */
  gap: fc.integer({ min: 0, max: 60 }),
  work: fc.integer({ min: 0, max: 90 }),
  succeeds: fc.boolean(),
  /** Whether the handler takes its signal, and what it does when that aborts. */
  signal: fc.constantFrom('never taken', 'throws', 'returns'),
  claim: fault,
  renew: fault,
  complete: fault,
  release: fault,
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

interface Run {
  readonly attempt: number;
  readonly startedAt: number;
  settledAt: number;
  resolved: boolean;
}

/** What happened to one event: in the real store, and in the handlers. */
interface History {
  readonly runs: Run[];
  /** When the store had granted the claim of each attempt; its lease is no older. */
  readonly grantedAt: Map<number, number>;
  /** When the store had first remembered it as done. */
  completedAt: number;
}

test('whatever the store and the handlers do, a 2xx means that a handler resolved, and no two run within a lease', async () => {
  const property = fc.asyncProperty(
    fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 50, maxLength: 50 }),
    async (plans) => {
      await Promise.all(plans.map(explore));
    },
  );
  await fc.assert(property, { numRuns: 3, endOnFailure: true });
}, 60_000);

async function explore(steps: readonly Step[]): Promise<void> {
  const history: History = { runs: [], grantedAt: new Map(), completedAt: Infinity };
  const store = watched(memoryStore(), history);
  const sent = delivery(fixtures.transactionPaid());
  const replies: Promise<void>[] = [];
  try {
    for (const each of steps) {
      await pause(each.gap);
      replies.push(deliverOnce(each, { store, sent, history }));
    }
    await Promise.all(replies);
    await untilAccepted(store, sent, history);
    examine(history);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${JSON.stringify({ steps, history }, null, 1)}`);
  }
}

/** The store, noting when it really grants a claim and when the event is really completed. */
function watched(store: IdempotencyStore, history: History): FaultyStore {
  return faultyStore(
    {
      claim: async (real) => {
        const now = performance.now();
        const result = (await real()) as ClaimResult;
        if (result.status === 'claimed') history.grantedAt.set(result.claim.attempt, now);
        return result;
      },
      complete: async (real) => {
        const done = await real();
        if (done) history.completedAt = Math.min(history.completedAt, performance.now());
        return done;
      },
    },
    { store },
  );
}

interface World {
  readonly store: IdempotencyStore;
  readonly sent: SentDelivery;
  readonly history: History;
}

async function deliverOnce(each: Step, { store, sent, history }: World): Promise<void> {
  const wire = faultyStore(
    {
      claim: faults[each.claim],
      renew: faults[each.renew],
      complete: faults[each.complete],
      release: faults[each.release],
    },
    { store },
  );
  const hooks = receiver({ ...times, privateKey: KEY, store: wire });
  let own: Run | undefined;
  hooks.on('*', async (_event, context) => {
    const run: Run = {
      attempt: context.attempt,
      startedAt: performance.now(),
      settledAt: Infinity,
      resolved: false,
    };
    own = run;
    history.runs.push(run);
    const signal = each.signal === 'never taken' ? undefined : context.signal;
    await pause(each.work, undefined, signal ? { signal } : {}).catch(() => {});
    run.settledAt = performance.now();
    run.resolved = each.succeeds && !signal?.aborted;
    if (signal?.aborted && each.signal === 'returns') return;
    if (!run.resolved) throw new Error('down');
  });
  const answer = await hooks.receive({ rawBody: sent.body, headers: sent.headers });
  const { outcome, code } = JSON.parse(answer.body);
  if (outcome === 'processed') expect(own).toMatchObject({ resolved: true });
  else if (outcome === 'duplicate') expect(history.completedAt).toBeLessThanOrEqual(performance.now());
  else if (answer.status === 500) expect([code, own]).toMatchObject(['HANDLER_FAILED', { resolved: false }]);
  else
    expect([answer.status, code]).toEqual([
      503,
      expect.stringMatching(/^(IN_PROGRESS|HANDLER_TIMEOUT|CLAIM_LOST|STORE_UNAVAILABLE)$/),
    ]);
  await hooks.close();
  expect(hooks.inFlight).toBe(0);
}

/** With all well again the sender's retries must come to an end, and by then a handler has resolved. */
async function untilAccepted(store: IdempotencyStore, sent: SentDelivery, history: History): Promise<void> {
  const well: Step = {
    gap: 0,
    work: 0,
    succeeds: true,
    signal: 'never taken',
    claim: 'none',
    renew: 'none',
    complete: 'none',
    release: 'none',
  };
  for (let tries = 0; history.completedAt === Infinity; tries += 1) {
    expect(tries).toBeLessThan(20);
    await deliverOnce(well, { store, sent, history });
    await pause(LEASE / 2);
  }
  expect(history.runs.some(({ resolved }) => resolved)).toBe(true);
}

function examine(history: History): void {
  const { runs, completedAt } = history;
  for (const [index, run] of runs.entries()) {
    expect(run.startedAt).toBeLessThanOrEqual(completedAt);
    const next = runs[index + 1];
    if (!next) continue;
    expect(next.attempt).toBeGreaterThan(run.attempt);
    const grantedAt = history.grantedAt.get(run.attempt) ?? Infinity;
    expect(run.settledAt <= next.startedAt || next.startedAt - grantedAt >= LEASE).toBe(true);
  }
}
