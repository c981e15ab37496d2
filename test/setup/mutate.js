// `npm run mutate [-- src/signature.ts]`: how many mutants of what must never be wrong the tests kill. Long; not part of
// CI. File by file, each against its own tests: a mutant that runs when its module is loaded is tried on all of them.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The tests of each file that is mutated. */
export const MUTATED = {
  'src/claims/claim-reply.ts': ['claims/store-calls', 'receiver/process-event', 'handlers/serial-locks'],
  'src/time.ts': ['time', 'claims/probe', 'handlers/handler-run', 'options/cached-keys'],
  'src/claims/describe-thrown.ts': ['claims/describe-thrown'],
  'src/claims/fingerprint.ts': ['claims/fingerprint', 'dead-letters/replay', 'receiver/process-event'],
  'src/handlers/handler-context.ts': [
    'handlers/handler-run',
    'handlers/calls',
    'handlers/changed-event',
    'events/drift-handle',
    'queues/any-queue',
  ],
  'src/handlers/handler-run.ts': [
    'handlers/handler-run',
    'handlers/calls',
    'handlers/changed-event',
    'hints',
    'observer',
    'handlers/serial-locks',
    'receiver/process-event',
    'queues/any-queue',
  ],
  'src/claims/lease.ts': ['claims/lease', 'receiver/process-event'],
  'src/claims/lock-of-claim.ts': ['claims/store-calls', 'handlers/serial-locks'],
  'src/claims/probe.ts': ['claims/probe'],
  'src/contracts/token.ts': ['contracts/token'],
  'src/signature.ts': [
    'signature',
    'construct-event',
    'receiver/check-signature',
    'dead-letters/replay-keys',
  ],
  'src/claims/store-calls.ts': [
    'claims/store-calls',
    'claims/lease',
    'receiver/process-event',
    'handlers/serial-locks',
  ],
  'src/claims/timed-calls.ts': [
    'claims/store-calls',
    'receiver/process-event',
    'dead-letters/keeping',
    'observer',
    'hints',
  ],
  'src/stores/memory.ts': ['stores/memory'],
  'src/stores/sql/batches.ts': ['stores/batches'],
  'src/stores/sql/sqlite.ts': ['stores/sqlite', 'stores/batches'],
  'src/http/read-body.ts': ['http/read-body', 'receiver/capture-body', 'receiver/fetch', 'receiver/memory'],
  'src/http/send-answer.ts': ['receiver/respond', 'receiver/fetch', 'receiver', 'receiver/capture-body'],
  'src/receiver/capture-body.ts': [
    'receiver/capture-body',
    'http/read-body',
    'receiver/fetch',
    'receiver/memory',
    'hints',
  ],
  'src/receiver/check-signature.ts': ['receiver/check-signature', 'options/cached-keys', 'hints'],
  'src/receiver/decode-event.ts': [
    'receiver/decode-event',
    'hints',
    'construct-event',
    'dead-letters/drifted-envelope',
    'events/drift-handle',
  ],
  'src/receiver/process-event.ts': [
    'receiver/process-event',
    'receiver/process-event-causes',
    'claims/lease',
    'handlers/serial-locks',
    'dead-letters/keeping',
    'dead-letters/drifted-envelope',
    'dead-letters/journal',
    'dead-letters/retries',
    'dead-letters/replay',
    'queues/any-queue',
    'receiver/verdicts',
    'hints',
  ],
  'src/handlers/serial-locks.ts': ['handlers/serial-locks'],
  'src/receiver/respond.ts': [
    'receiver/respond',
    'receiver/fetch',
    'receiver/verdicts',
    'receiver',
    'dead-letters/keeping',
    'receiver/capture-body',
    'handlers/handler-run',
  ],
};

// Not through npx: Windows starts that only in a shell.
const STRYKER = 'node_modules/@stryker-mutator/core/bin/stryker.js';
const REPORT = 'reports/mutation.json';
const ENOUGH = 0.85;
const CAUGHT = ['Killed', 'Timeout'];
const COUNTED = [...CAUGHT, 'Survived', 'NoCoverage'];

/** Mutants of one file: how many count, and those that nothing noticed. */
function mutate(file) {
  const { status } = spawnSync(process.execPath, [STRYKER, 'run', '--mutate', file], {
    stdio: 'inherit',
    env: { ...process.env, MUTATED: file },
  });
  if (status !== 0) throw new Error(`Stryker ended with ${status} for ${file}.`);
  const { mutants } = JSON.parse(readFileSync(REPORT, 'utf8')).files[file];
  const counted = mutants.filter((mutant) => COUNTED.includes(mutant.status));
  return {
    file,
    all: counted.length,
    caught: counted.filter(({ status }) => CAUGHT.includes(status)).length,
  };
}

function show({ file, all, caught }) {
  console.log(`${file}: ${caught} of ${all} mutants killed, ${((100 * caught) / all).toFixed(1)} %`);
}

if (process.argv[1] === import.meta.filename) {
  const files = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(MUTATED);
  const results = files.map(mutate);
  const sum = (field) => results.reduce((total, result) => total + result[field], 0);
  const total = { file: 'together', all: sum('all'), caught: sum('caught') };
  for (const result of [...results, total]) show(result);
  process.exitCode = total.caught / total.all >= ENOUGH ? 0 : 1;
}
