// Holds the table of log fields in docs/observability.md to the lines that a receiver writes.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { memoryDeadLetters, type Receiver, receiver } from 'payment-webhooks';
import { fixtures } from 'payment-webhooks/testing';
import { delivery } from '../setup/delivery.js';
import { startEndpoint } from '../setup/endpoint.js';
import { codesIn, tableBelow } from '../setup/markdown.js';
import { ROOT } from '../setup/shell.js';

const documented = tableBelow(join(ROOT, 'docs/observability.md'), '## The log').flatMap(([cell]) =>
  codesIn(cell),
);

const undocumented = (fields: Iterable<string>) =>
  [...new Set(fields)].filter((name) => !documented.includes(name));

test('the table has every field that the line of a delivery may have', () => {
  const source = readFileSync(join(ROOT, 'src/deliveries/delivery-log.ts'), 'utf8');
  const assigned = [...source.matchAll(/\b(?:line|fields)\.(\w+) = /g)].map(([, name = '']) => name);
  expect(assigned.length).toBeGreaterThan(12);
  expect(undocumented(assigned)).toEqual([]);
});

test('the table has every field of lines about deliveries, handlers, letters and options', async () => {
  const deadLetters = memoryDeadLetters();
  let runs = 0;
  const handler = () => {
    runs += 1;
    if (runs === 1) throw Object.assign(new Error('down'), { code: 'ECONNREFUSED' });
  };
  const { hooks, post, log } = await startEndpoint({ deadLetters, handlers: { '*': handler } });
  const paid = fixtures.transactionPaid();
  await post(delivery(paid));
  await post(delivery(fixtures.event('refund.made', {})));
  await post(delivery(undefined, 'pri_forged'));
  await post(delivery({ ...fixtures.transactionPaid(), payload: { transaction: { amount: 1 } } }));
  const { deadLetters: letters } = hooks as unknown as Receiver<{}, {}, typeof deadLetters>;
  await letters.replay();
  const other = receiver({ privateKey: 'pri_other', deadLetters, logger: log.logger, lease: 1 });
  await other.deadLetters.replay();
  const fields = log.lines.flatMap((line) => Object.keys(line));
  expect(fields).toEqual(
    expect.arrayContaining(['code', 'outcome', 'deadLetter', 'issues', 'handler', 'deadLetterId', 'option']),
  );
  expect(undocumented(fields)).toEqual([]);
});
