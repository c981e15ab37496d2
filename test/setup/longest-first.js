// Orders the test files so that the longest start first: a long file that starts last keeps one worker busy, and the others idle.
import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** Seconds that files take on a machine of two cores. Jest remembers its own figures, but not in a fresh clone. */
const SECONDS = {
  'lab/faults/queue-brokers': 90,
  package: 60,
  'stores/letters/redis': 60,
  'stores/letters/sql': 60,
  'dead-letters/causes': 50,
  'dead-letters/redrive-processes': 50,
  'stores/batches': 45,
  'stores/once-postgres': 40,
  'browser/dashboard-layout': 40,
  'stores/redis': 40,
  'browser/capture': 35,
  'browser/dashboard-controls': 35,
  'stores/leases-mariadb': 35,
  'stores/leases-postgres': 35,
  'browser/dashboard-rows': 30,
  'examples/queue-bullmq': 30,
  'browser/letters-layout': 25,
  'receiver/memory': 25,
  'stores/inbox/inbox': 25,
  'browser/dashboard': 20,
  'browser/letters-page': 20,
  'receiver/process-event': 20,
  'stores/memory': 20,
  'stores/once-mariadb': 20,
  'tools/cli/bin': 20,
  'claims/store-calls': 15,
  'dead-letters/sixty-events': 15,
  'examples/several-processes': 15,
  'queues/processor': 15,
  'stores/sqlite': 15,
  'consumers/test-runners.consumer.ts': 60,
  'consumers/examples.consumer.ts': 50,
  'consumers/sql-clients.consumer.ts': 50,
  'consumers/serverless.consumer.ts': 40,
  'consumers/next.consumer.ts': 40,
  'consumers/frameworks.consumer.ts': 40,
  'consumers/runtimes.consumer.ts': 40,
};

export default class LongestFirst extends Sequencer {
  time(test) {
    const file = relative(`${test.context.config.rootDir}/test`, test.path).replace('.test.ts', '');
    return super.time(test) ?? (SECONDS[file] ?? 1) * 1_000;
  }
}
