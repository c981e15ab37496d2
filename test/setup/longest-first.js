// Orders the test files so that the longest start first: a long file that starts last keeps one worker busy, and the others idle.
import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** Seconds that files take on a machine of two cores. Jest remembers its own figures, but not in a fresh clone. */
const SECONDS = {
  'browser/letters-layout': 40,
  package: 60,
  'lab/faults/queue-brokers': 90,
  'dead-letters/rivals': 30,
  'stores/silent-network': 30,
  'dead-letters/redrive-processes': 30,
  'queues/verdicts': 30,
  'examples/queue-bullmq': 30,
  'browser/dashboard-layout': 25,
  'stores/redis': 25,
  'stores/leases-postgres': 25,
  'browser/dashboard-controls': 20,
  'claims/lease': 20,
  'receiver/process-event': 20,
  'stores/letters/redis': 18,
  'receiver/memory': 18,
  'stores/letters/sql': 16,
  'browser/letters-page': 14,
  'examples/several-processes': 14,
  'stores/memory': 14,
  'tools/cli/bin': 14,
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
