// Makes the cases of a contract suite: each tests a store of its own, and closes it.

export interface ContractCase {
  /** What the store promises, as a sentence. */
  readonly name: string;
  /** Rejects with an error that says which promise the store breaks, and what it did instead. */
  readonly run: () => Promise<void>;
}

type Sleep = (ms: number) => Promise<void>;

interface Suite<Context> {
  readonly cases: Readonly<Record<string, (context: Context) => Promise<void>>>;
  /** Milliseconds; undefined: the store's default. */
  readonly retention: number | undefined;
  /**
   * Where a case calls the store between two ends of a lease or a retention: the milliseconds that it may take beyond its
   * sleeps. If it took longer and failed, the machine was too slow to tell, and the case runs again.
   */
  readonly slackMs?: number;
}

const MAX_RUNS = 10;

export function contractCases<Store extends { close?(): unknown }, Context>(
  suites: readonly Suite<Context>[],
  create: (options: { readonly retention: number | undefined }) => Store | Promise<Store>,
  contextFor: (store: Store, sleep: Sleep) => Context,
  sleep: Sleep,
): ContractCase[] {
  return suites.flatMap(({ cases, retention, slackMs = Number.POSITIVE_INFINITY }) =>
    Object.entries(cases).map(([name, check]) => ({
      name,
      run: async () => {
        for (let runs = 1; ; runs++) {
          const store = await create({ retention });
          let sleptMs = 0;
          const counted: Sleep = (ms) => {
            sleptMs += ms;
            return sleep(ms);
          };
          const began = performance.now();
          try {
            await check(contextFor(store, counted));
            return;
          } catch (error) {
            if (performance.now() - began - sleptMs < slackMs || runs === MAX_RUNS) throw error;
          } finally {
            await store.close?.();
          }
        }
      },
    })),
  );
}
