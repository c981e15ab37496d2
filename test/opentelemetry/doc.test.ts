import { join } from 'node:path';
import { expect, jest, test } from '@jest/globals';
import { type ExhaustedLetter, memoryDeadLetters } from 'payment-webhooks';
import { observeDeadLetters, openTelemetry } from 'payment-webhooks/opentelemetry';
import { fixtures } from 'payment-webhooks/testing';
import { BATCHES } from '../../src/observer.js';
import { delivery } from '../setup/delivery.js';
import { startEndpoint } from '../setup/endpoint.js';
import { codesIn, tableBelow } from '../setup/markdown.js';
import { down } from '../setup/raise.js';
import { ROOT } from '../setup/shell.js';
import { registerMetrics, registerTraces } from '../setup/telemetry.js';
import { until } from '../setup/waiting.js';

const rowsBelow = (heading: string) => tableBelow(join(ROOT, 'docs/observability.md'), `## ${heading}`);

test('docs/observability.md has a row for each metric and each attribute, and no other', async () => {
  const traces = registerTraces();
  const measured = registerMetrics();
  const handler = jest.fn(() => {}).mockImplementationOnce(down);
  const { hooks, post } = await startEndpoint({
    observer: openTelemetry(),
    deadLetters: memoryDeadLetters(),
    handlers: { '*': handler },
  });
  const exhausted = { id: '1', reason: 'failed', eventName: 'transaction.paid', declared: true, attempts: 7 };
  openTelemetry().exhausted?.(exhausted as ExhaustedLetter);
  BATCHES.publish({ step: 'claim', size: 1 });
  observeDeadLetters(hooks as Parameters<typeof observeDeadLetters>[0]);
  const event = fixtures.transactionPaid();
  await post(delivery(event));
  await post(delivery(event));
  await post(delivery(JSON.stringify(event, null, 1)));
  await until(() => traces.spans.length === 5);

  const on = new Map<string, Set<string>>();
  for (const { name, attributes } of traces.spans)
    for (const attribute of Object.keys(attributes))
      on.set(attribute, (on.get(attribute) ?? new Set()).add(name.split(' ')[1] ?? ''));
  const kinds = [...on].map(([attribute, spans]) => [attribute, spans.size === 2 ? 'both' : [...spans][0]]);
  expect(
    rowsBelow('Spans')
      .map(([name, where]) => [codesIn(name)[0], where])
      .sort(),
  ).toEqual(kinds.sort());

  const exported = (await measured.all()).map(({ descriptor: { name, unit }, dataPoints }) => {
    const labels = dataPoints.flatMap(({ attributes }) => Object.keys(attributes));
    return [name, unit === 's' ? ['s'] : [], [...new Set(labels)].sort()];
  });
  let above: (string | undefined)[] = [];
  const documented = rowsBelow('Metrics').map(([name, kind, labels]) => {
    if (labels !== 'the same') above = codesIn(labels).sort();
    return [codesIn(name)[0], codesIn(kind), above];
  });
  expect(documented.sort()).toEqual(exported.sort());
});
