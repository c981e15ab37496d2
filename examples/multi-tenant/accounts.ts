// Stands in for your table of accounts and for your secret manager.

export interface Account {
  readonly id: string;
  readonly paidOrders: Set<string>;
}

export const accounts: ReadonlyMap<string, Account> = new Map(
  ['acme', 'globex'].map((id) => [id, { id, paidOrders: new Set() }]),
);

export const secrets = {
  /** Slow, and it can fail: the receiver gives it `storeTimeout`, then answers 503, which asks for a retry. */
  async privateKeyOf(account: string): Promise<string> {
    return `pri_of_${account}`;
  },
};
