// The campaign of one SQL client: workers, connections and the database are killed while handlers write through the
// transaction that remembers the event.
import { sqlStore } from 'payment-webhooks/stores/sql';
import type { SqlClient } from '../setup/sql-adapters.js';
import { checkHistory, type Verdict } from './check-history.js';
import { startProxy } from './faulty-proxy.js';
import { type History, recordsOf } from './history.js';
import { Nemesis } from './nemesis.js';
import { recordDeliveries } from './record-deliveries.js';
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
  readonly history: History;
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
    const history = await injectFaults(options, server, workers).finally(() => workers.close());
    const faults = recordsOf(history, 'fault').length;
    const seconds = Math.round((performance.now() - began) / 1_000);
    return { ...checkHistory(history), history, client, faults, seconds };
  } finally {
    await server.stop();
  }
}

async function injectFaults(options: SqlCampaignOptions, server: SqlServer, workers: Workers) {
  const { client, faults: times, events: fewest, progress } = options;
  const sender = new Sender(workers.port, 2);
  const proxy = await startProxy(server.port);
  const nemesis = new Nemesis({ workers, proxy, ...server.targets });
  const restart = client.server === 'MariaDB' ? 'restart mariadb' : 'restart postgres';
  return recordDeliveries({
    campaign: { mode: client.name, transactional: true },
    ...{ sender, workers, concurrency: CONCURRENCY },
    load: (isOver) => sender.deliver(CONCURRENCY, (events) => isOver() && events >= fewest),
    inject: async () => {
      await nemesis.run({ kill: times, 'terminate connection': times, [restart]: times }, (done, of) =>
        progress(`${client.name}: ${done} of ${of} faults, ${sender.history.length} deliveries`),
      );
      await proxy.close();
      return nemesis.faults;
    },
    ledger: () => server.readLedger(),
  });
}
