// What `simulate` prints about an error: its code, or else its message, and never nothing.

import { mkdtempSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { describeError } from '../../../src/logger.js';
import { attemptLog } from '../../../src/tools/cli/delivery-text.js';
import { outputTo } from '../../../src/tools/cli/print.js';
import { refusingPort } from '../../setup/ports.js';
import { simulator } from '../simulator/world.js';
import { folder } from './files.js';

function started(json = false) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const log = attemptLog(outputTo({ stdin, stdout, stderr, env: {} }, json));
  log.begin();
  const read = (stream: PassThrough) => String(stream.read() ?? '');
  return { log, printed: () => read(stdout), complained: () => read(stderr) };
}

const full = Object.assign(new Error('no space left on device, write'), { code: 'ENOSPC' });

describe('a complaint', () => {
  test.each<[string, object, string]>([
    ['a code', { state: '/s.json', code: 'ENOSPC' }, 'it failed (/s.json): ENOSPC\n'],
    ['an error with a code', { err: full }, 'it failed: ENOSPC\n'],
    ['an error that is described', { error: describeError(full) }, 'it failed: ENOSPC\n'],
    ['the kind of an error', { error: describeError(new RangeError('x')) }, 'it failed: RangeError\n'],
    ['an error without a code', { error: new Error('too deep') }, 'it failed: too deep\n'],
    ['control characters', { err: new Error('deep\u001b[2J') }, 'it failed: deep\\u001b[2J\n'],
    ['an empty code', { code: '', err: full }, 'it failed: ENOSPC\n'],
    ['a host', { host: '0.0.0.0' }, 'it failed (0.0.0.0)\n'],
    ['nothing', {}, 'it failed\n'],
  ])('with %s says what it knows', (_, fields, line) => {
    const { log, complained } = started();
    log.error(fields, 'it failed');
    expect(complained()).toBe(line);
  });
});

describe('an attempt', () => {
  const fields = {
    ...{ delivery: 'd'.repeat(36), event: 'e', eventName: 'a.b', url: 'http://127.0.0.1:1/', attempt: 1 },
    ...{ status: 'failed', outcome: null, durationMs: 1, fault: null, diagnosis: null, nextAttemptAt: null },
  };

  test.each<[object, string]>([
    [{ answer: 'ECONNREFUSED', reason: 'connect ECONNREFUSED 127.0.0.1:1' }, 'ECONNREFUSED'],
    [{ answer: 'UNKNOWN', reason: 'socket hang up' }, 'socket hang up'],
    [{ answer: undefined, reason: 'socket hang up' }, 'socket hang up'],
    [{ answer: '', reason: 'socket\nhang up' }, 'socket\\u000ahang up'],
    [{ answer: 'ECONNRESET', reason: '' }, 'ECONNRESET'],
  ])('without an answer, %j, is printed with its reason', (error, shown) => {
    const { log, printed } = started();
    log.info({ ...fields, ...error });
    expect(printed()).toContain(`→ http://127.0.0.1:1/  ${shown}  1 ms  attempt 1\n`);
  });

  test.each<[object, string]>([
    [{ answer: 200, reason: null, outcome: 'duplicate' }, '[200] duplicate'],
    [{ answer: 500, reason: null }, '[500]'],
  ])('%j is printed with its status in brackets', (answer, shown) => {
    const { log, printed } = started();
    log.info({ ...fields, ...answer });
    expect(printed()).toContain(`  a.b  e  dddddddd  → http://127.0.0.1:1/  ${shown}  1 ms  attempt 1\n`);
  });

  test('has the code and the message in JSON', () => {
    const { log, printed } = started(true);
    log.info({ ...fields, answer: 'ECONNRESET', reason: 'socket hang up' });
    expect(JSON.parse(printed())).toMatchObject({ answer: 'ECONNRESET', reason: 'socket hang up' });
  });
});

test('a running simulator prints a refused connection and a state file that it cannot write', async () => {
  const { log, printed, complained } = started();
  const home = mkdtempSync(join(folder, 'home-'));
  const away = `${home}-away`;
  const state = join(home, 'state.json');
  const service = await simulator({ state, retry: 'off', logger: log });
  await service.webhooks.create({ url: `http://127.0.0.1:${await refusingPort()}/hooks` });
  await service.trigger('transaction.paid');
  expect(printed()).toMatch(/ {2}failed .* {2}ECONNREFUSED {2}\d+ ms {2}attempt 1\n/);
  renameSync(home, away);
  await service.trigger('transaction.paid');
  expect(complained()).toContain(`the state file could not be written (${state}): ENOENT\n`);
  renameSync(away, home);
});

test.each([
  ['processed', 'delivered'],
  ['ignored', 'ignored  '],
  ['kept', 'kept     '],
])('an event that was %s is printed as %s, because each is answered 2xx', (outcome, shown) => {
  const { log, printed } = started();
  const at = {
    delivery: 'd'.repeat(36),
    event: 'e',
    eventName: 'a.b',
    url: 'http://127.0.0.1:1/',
    attempt: 1,
  };
  const none = { fault: null, diagnosis: null, nextAttemptAt: null, reason: null };
  log.info({ ...at, ...none, status: 'delivered', outcome, answer: 200, durationMs: 1 });
  expect(printed()).toMatch(new RegExp(`^\\S+  ${shown}  a\\.b  .*  \\[200\\] ${outcome}  1 ms`));
});
