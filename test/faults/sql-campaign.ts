// The campaign of one SQL client: workers, connections and the database are killed while handlers write through the
// transaction that remembers the event.
import { sqlStore } from 'payment-webhooks/stores/sql';
import type { SqlClient } from '../setup/sql-adapters.js';
import { checkHistory, type Verdict } from './check-history.js';
import { startProxy } from './faulty-proxy.js';
import { LEASE_MS } from './merchant.js';
import { Nemesis } from './nemesis.js';
import { Sender } from './sender.js';
import { type SqlServer, startSqlServer } from './sql-server.js';
import { Workers } from './workers.js';

export interface SqlCampaignOptions {
  /** Of each of the three faults. */
  readonly faults: number;
  /** At least; the sender continues while the nemesis does. */
  readonly events: number;
  readonly client: SqlClient;
  /** The program of a worker, and the module that it imports for this client. */
  readonly script: string;
  readonly ledger: string;
  readonly progress: (line: string) => void;
}

export interface SqlCampaign extends Verdict {
  readonly client: SqlClient;
  readonly faults: number;
  readonly seconds: number;
}

const CONCURRENCY = 16;
export async function runSqlCampaign(options: SqlCampaignOptions): Promise<SqlCampaign> {
  const began = performance.now();
  const { client, script, ledger } = options;
  const server = await startSqlServer(client.server);
  try {
    await sqlStore(server.database).migrate();
    const env = { LEDGER: ledger, DATABASE_URL: server.url, MYSQL_URL: server.url };
    const workers = await Workers.start(script, 4, env);
    const { faults, verdict } = await injectFaults(options, server, workers).finally(() => workers.close());
    return { ...verdict, client, faults, seconds: Math.round((performance.now() - began) / 1_000) };
  } finally {
    await server.stop();
  }
}

async function injectFaults(options: SqlCampaignOptions, server: SqlServer, workers: Workers) {
  const { client, faults: times, events: fewest, progress } = options;
  const sender = new Sender(workers.port, 2);
  const proxy = await startProxy(server.port);
  const nemesis = new Nemesis({ workers, proxy, ...server.targets });
  let over = false;
  const load = sender.deliver(CONCURRENCY, (events) => over && events >= fewest);
  const restart = client.server === 'MariaDB' ? 'restart mariadb' : 'restart postgres';
  await nemesis.run({ kill: times, 'terminate connection': times, [restart]: times }, (done, of) =>
    progress(`${client.name}: ${done} of ${of} faults, ${sender.history.length} deliveries`),
  );
  await proxy.close();
  over = true;
  sender.calm = true;
  const calmSince = Date.now() + LEASE_MS;
  await load;
  const rows = await server.readLedger();
  const replayed = await sender.replay(CONCURRENCY);
  const verdict = checkHistory({
    mode: 'transactional',
    sent: sender.history,
    replayed,
    rows,
    rowsAfterReplay: await server.readLedger(),
    faults: nemesis.faults,
    calmSince,
    unexplainedExits: workers.unexplained,
  });
  return { verdict, faults: nemesis.faults.length };
}
