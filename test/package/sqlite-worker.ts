// A Worker whose inbox is in D1 and, for paths that begin with /object/, in the SQL of a Durable Object. For
// workers-sqlite.consumer.ts, which compiles it with the types of Cloudflare.
import { DurableObject, env } from 'cloudflare:workers';
import { receiver } from 'payment-webhooks';
import { type SqlInbox, sqlDeadLetters, sqlInbox, sqlStore } from 'payment-webhooks/stores/sql';
import { deadLetterContract, storeContract } from 'payment-webhooks/testing';

interface Env {
  readonly DB: D1Database;
  readonly OBJECT: DurableObjectNamespace;
}
const { DB, OBJECT } = env as unknown as Env;

const inD1 = {
  dialect: 'sqlite',
  client: DB,
  query: async (d1: D1Database, sql: string, values: unknown[]) =>
    (
      await d1
        .prepare(sql)
        .bind(...values)
        .all()
    ).results,
} as const;

const inObject = (client: DurableObjectStorage) =>
  ({
    dialect: 'sqlite',
    client,
    query: (storage: DurableObjectStorage, sql: string, values: unknown[]) =>
      storage.sql.exec(sql, ...values).toArray(),
  }) as const;

/** One part of the cases: an invocation may run for half a minute. */
type Contract = (part: number, parts: number) => Promise<{ cases: number; failures: string[] }>;

function app(inbox: SqlInbox, contract: Contract) {
  const failed = new Set<string>();
  const hooks = receiver({ inbox, privateKey: 'pri_of_the_worker', lease: '10s', timeout: '5s' });
  hooks.on(
    'transaction.paid',
    async (event, context) => {
      const { order_id } = event.payload.transaction;
      if (order_id === 'slow') await new Promise((resolve) => setTimeout(resolve, 2_000));
      // @ts-expect-error: there is no transaction that a handler can hold
      if (order_id === 'once') context.once(() => {});
      if (order_id !== 'fail' || failed.has(event.id)) return;
      failed.add(event.id);
      throw new Error('the first attempt');
    },
    { name: 'pay' },
  );
  /** What timers do elsewhere: here they end with their request. */
  const keepUp = async () => {
    const { processed } = await hooks.deadLetters.replay();
    return { processed, pruned: (await inbox.store.prune()) + (await inbox.deadLetters.prune()) };
  };
  return {
    keepUp,
    async fetch(request: Request, context: Pick<ExecutionContext, 'waitUntil'>): Promise<Response> {
      const { pathname, searchParams } = new URL(request.url);
      const [what = ''] = pathname.split('/').slice(-1);
      if (what === 'leave') {
        // Nobody waits for it: it ends with this request, in the middle of creating the table.
        void hooks.fetch(new Request(request, { body: await request.arrayBuffer() }));
        await new Promise((resolve) => setTimeout(resolve, 300));
        return new Response();
      }
      if (request.method === 'POST') return hooks.fetch(request, undefined, context);
      if (what === 'letters') return Response.json(await hooks.deadLetters.count());
      if (what === 'keep-up') return Response.json(await keepUp());
      if (what === 'ping') return Response.json(await inbox.ping().then(() => 'well', String));
      return Response.json(
        await contract(Number(searchParams.get('part')), Number(searchParams.get('parts'))),
      );
    },
  };
}

const contractOf =
  (database: Parameters<typeof sqlStore>[0] & { readonly transaction?: undefined }): Contract =>
  async (part, parts) => {
    const table = 'contract_event';
    await sqlStore({ ...database, table }).migrate();
    const cases = [
      ...storeContract({ create: ({ retention }) => sqlStore({ ...database, table, retention }) }),
      ...deadLetterContract({
        // A case may expect to find its own letters alone.
        create: async ({ retention }) => {
          const own = `letter_${crypto.randomUUID().replaceAll('-', '')}`;
          const letters = sqlDeadLetters({ ...database, table: own, retention });
          await letters.migrate();
          return letters;
        },
      }),
    ].filter((_, at) => at % parts === part);
    const failures: string[] = [];
    for (const { name, run } of cases) await run().catch((error) => failures.push(`${name}: ${error}`));
    return { cases: cases.length, failures };
  };

let creating = true;
const d1 = app(
  sqlInbox({
    ...inD1,
    query: async (...call) => {
      // The first time it takes long.
      if (creating && call[1].includes('CREATE TABLE')) {
        creating = false;
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
      return inD1.query(...call);
    },
  }),
  contractOf(inD1),
);

export class Shop extends DurableObject {
  readonly #app: ReturnType<typeof app>;

  constructor(state: DurableObjectState, given: Env) {
    super(state, given);
    const database = inObject(state.storage);
    this.#app = app(sqlInbox(database), contractOf(database));
  }

  override fetch(request: Request): Promise<Response> {
    return this.#app.fetch(request, this.ctx);
  }
}

export default {
  async fetch(request: Request, _env: Env, context: ExecutionContext): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith('/d1/')) return d1.fetch(request, context);
    return OBJECT.get(OBJECT.idFromName('shop')).fetch(request);
  },
  async scheduled(): Promise<void> {
    console.log(JSON.stringify(await d1.keepUp()));
  },
};
