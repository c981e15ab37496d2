// Runs the contract suites of stores and of dead letters against sqlStore() and sqlDeadLetters(), over the client that CLIENT
// names.
import { randomBytes } from 'node:crypto';
import { type SqlDatabase, sqlDeadLetters, sqlStore } from 'payment-webhooks/stores/sql';
import { deadLetterContract, storeContract } from 'payment-webhooks/testing';

const { database, connect, close } = await import(`./ledger-${process.env.CLIENT}.ts`);
const given: SqlDatabase<object> = database;

await connect();
await sqlStore(given).migrate();
const claims = storeContract({ create: ({ retention }) => sqlStore({ ...given, retention }) });
const letters = deadLetterContract({
  // A case may expect to find its own letters alone.
  create: async ({ retention }) => {
    const table = `letter_${randomBytes(6).toString('hex')}`;
    const store = sqlDeadLetters({ ...given, table, retention });
    await store.migrate();
    return store;
  },
});
const failures: string[] = [];
for (const { name, run } of [...claims, ...letters]) {
  await run().catch((error: unknown) => failures.push(`${name}: ${error}`));
}
await close();
console.log(JSON.stringify({ cases: [claims.length, letters.length], failures }));
