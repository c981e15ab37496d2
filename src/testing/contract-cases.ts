// Makes the cases of a contract suite: each tests a store of its own, and closes it.

export interface ContractCase {
  /** What the store promises, as a sentence. */
  readonly name: string;
  /** Rejects with an error that says which promise the store breaks, and what it did instead. */
  readonly run: () => Promise<void>;
}

interface Suite<Context> {
  readonly cases: Readonly<Record<string, (context: Context) => Promise<void>>>;
  /** Milliseconds; undefined: the store's default. */
  readonly retention: number | undefined;
}

export function contractCases<Store extends { close?(): unknown }, Context>(
  suites: readonly Suite<Context>[],
  create: (options: { readonly retention: number | undefined }) => Store | Promise<Store>,
  contextFor: (store: Store) => Context,
): ContractCase[] {
  return suites.flatMap(({ cases, retention }) =>
    Object.entries(cases).map(([name, check]) => ({
      name,
      run: async () => {
        const store = await create({ retention });
        try {
          await check(contextFor(store));
        } finally {
          await store.close?.();
        }
      },
    })),
  );
}
