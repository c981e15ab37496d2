// Infers the type of a client's transaction, so that handlers get it typed.

type Callback = (transaction: never) => unknown;

/** The first argument of the callback that a method takes, itself or in what it returns: `db.transaction().execute(work)`. */
type GivenBy<Method> = Method extends (...args: infer Args) => infer Result
  ? [Extract<Args[number], Callback>] extends [never]
    ? Result extends { execute: (work: infer Work) => unknown }
      ? FirstOf<Work>
      : never
    : FirstOf<Extract<Args[number], Callback>>
  : never;

type FirstOf<Work> = Work extends (transaction: infer Transaction, ...rest: never) => unknown
  ? Transaction
  : never;

type Found<Client> = Client extends { $transaction: infer Method }
  ? GivenBy<Method>
  : Client extends { transaction: infer Method }
    ? GivenBy<Method>
    : Client extends { getConnection(): Promise<infer Connection> }
      ? Connection
      : never;

/**
 * What `client.$transaction(work)`, `client.transaction(work)` or `client.transaction().execute(work)` gives its work, or a
 * connection of `client.getConnection()`. Any other client: name it, `transaction: (work: (t: Mine) => Promise<void>) => …`.
 */
export type TransactionOf<Client> = [Found<Client>] extends [never] ? Client : Found<Client>;
