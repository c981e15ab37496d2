import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { deliver, fixtures } from 'payment-webhooks/testing';
import { REASONS } from '../../src/contracts/dead-letter-store.js';
import { ANSWERS } from '../../src/errors.js';
import { needing } from '../setup/platform.js';
import { followReadme, type Session } from '../setup/readme.js';
import { ROOT } from '../setup/shell.js';

const FOLDER = join(ROOT, 'examples/observability');
const dashboard = JSON.parse(readFileSync(join(FOLDER, 'dashboard.json'), 'utf8'));
const alerts = readFileSync(join(FOLDER, 'alerts.yml'), 'utf8');

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets: readonly { readonly expr: string }[];
}

const panels: readonly Panel[] = dashboard.panels;
const rules = alerts.split(/^ {6}- alert: /m).slice(1);
const queries: [from: string, expr: string][] = [
  ...panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }): [string, string] => [`panel ${title}`, expr]),
  ),
  ...rules.map((rule): [string, string] => [
    `alert ${/^\w+/.exec(rule)}`,
    /^ {8}expr: (.+)$/m.exec(rule)?.[1] ?? '',
  ]),
];

/** What the scrape itself adds, and not the app. */
const ADDED_BY_PROMETHEUS = ['job', 'instance'];

interface Query {
  readonly metrics: readonly string[];
  readonly labels: readonly string[];
  /** Each matcher that names a value: label, value. */
  readonly values: readonly (readonly [string, string])[];
}

function read(expr: string): Query {
  const matchers = [...expr.matchAll(/(\w+)(=~|!=|=)"([^"]*)"/g)];
  const groups = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/));
  return {
    metrics: [...expr.replace(/\{[^}]*\}|\bby \([^)]*\)/g, '').matchAll(/\bwebhook_\w+/g)].map(
      ([name]) => name,
    ),
    labels: [...matchers.map(([, label = '']) => label), ...groups],
    values: matchers.map(([, label = '', , value = '']) => [label, value] as const),
  };
}

/** Metrics of a scrape, each with the labels that any of its lines has. */
function readScrape(text: string): Map<string, Set<string>> {
  const metrics = new Map<string, Set<string>>();
  for (const line of text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))) {
    const [, name = '', labels = ''] = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    const known = metrics.get(name) ?? new Set();
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label);
    metrics.set(name, known);
  }
  return metrics;
}

needing('curl').describe('the example observability', () => {
  let session: Session;
  let scraped: Map<string, Set<string>>;

  beforeAll(async () => {
    session = await followReadme('observability', { PORT: 3000, METRICS_PORT: 9464 });
  }, 90_000);

  afterAll(() => session?.end());

  test('answers the commands of its README as it shows', async () => {
    expect(session.commands).toHaveLength(2);
    for (const { script, shown } of session.commands) expect(await session.type(script)).toBe(shown);
    scraped = readScrape(await session.type('curl -s http://localhost:9464/metrics'));
    // Counted first when a letter has failed for more than a day; docs/observability.md is held to its labels.
    scraped.set('webhook_dead_letters_exhausted_total', scraped.get('webhook_dead_letters') ?? new Set());
  });

  test.each(queries)('has every metric and label that its %s asks for', (_from, expr) => {
    const { metrics, labels } = read(expr);
    expect(metrics.length).toBeGreaterThan(0);
    expect(metrics.filter((name) => !scraped.has(name))).toEqual([]);
    const known = new Set([
      ...ADDED_BY_PROMETHEUS,
      ...metrics.flatMap((name) => [...(scraped.get(name) ?? [])]),
    ]);
    expect(labels.filter((label) => !known.has(label))).toEqual([]);
  });

  test.each(queries)('asks in its %s for codes, outcomes and statuses that exist', (_from, expr) => {
    const existing: Readonly<Record<string, readonly string[]>> = {
      webhook_code: Object.keys(ANSWERS),
      webhook_outcome: ['processed', 'duplicate', 'ignored', 'kept'],
      webhook_dead_letter: [...REASONS],
      webhook_handler_status: ['fulfilled', 'rejected'],
      http_response_status_code: ['200', ...Object.values(ANSWERS).map(({ status }) => String(status))],
    };
    for (const [label, value] of read(expr).values) {
      const wanted = new RegExp(`^(?:${value})$`);
      if (existing[label]) expect(existing[label].filter((one) => wanted.test(one))).not.toEqual([]);
    }
  });

  test('answers a monitor on the port of the metrics', async () => {
    const asked = await session.type('curl -si http://localhost:9464/healthz');
    expect(asked).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(JSON.parse(asked.slice(asked.indexOf('{')))).toMatchObject({ status: 'ok' });
  });

  test('shows every metric of a delivery, and its spans inside that of the request', async () => {
    const shown = new Set(queries.flatMap(([, expr]) => read(expr).metrics.map(withoutSuffix)));
    const ours = [...scraped.keys()].filter((name) => name.startsWith('webhook_')).map(withoutSuffix);
    expect([...shown].sort()).toEqual([...new Set(ours)].sort());

    await session.app.printed("name: 'webhook delivery'");
    const spans = session.app.output().split(/^\{$/m);
    const field = (span: string | undefined, pattern: RegExp) => pattern.exec(span ?? '')?.[1];
    const spanOf = (name: string) => spans.find((span) => span.includes(`\n  name: '${name}'`));
    const idOf = (name: string) => field(spanOf(name), /^ {2}id: '(\w+)'/m);
    const parentOf = (name: string) => field(spanOf(name), /parentSpanContext: \{[^}]*spanId: '(\w+)'/);
    expect(parentOf('update order')).toBe(idOf('webhook handler book'));
    expect(parentOf('webhook handler book')).toBe(idOf('webhook delivery transaction.paid'));
    expect(parentOf('webhook delivery transaction.paid')).toBe(idOf('POST'));
    expect(idOf('POST')).toMatch(/^[0-9a-f]{16}$/);
  }, 90_000);
});

function withoutSuffix(name: string): string {
  return name.replace(/_(?:bucket|sum|count)$/, '');
}

describe('its dashboard', () => {
  test('has panels with a number and a place of their own', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const places = panels.flatMap(({ gridPos: { x, y, w, h } }) => {
      expect(x + w).toBeLessThanOrEqual(24);
      return Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`);
    });
    expect(new Set(places).size).toBe(places.length);
  });

  test('asks the data source that is chosen when it is imported', () => {
    expect(dashboard.templating.list.map(({ name }: { name: string }) => name)).toEqual([
      'datasource',
      'job',
    ]);
    const sources = [...JSON.stringify(panels).matchAll(/"uid":"([^"]*)"/g)].map(([, uid]) => uid);
    expect(sources.filter((uid) => !/^\$\{datasource\}$/.test(uid ?? ''))).toEqual([]);
    expect(sources.length).toBeGreaterThan(panels.length);
  });
});

test('each of its alerts has a row in the README', () => {
  const readme = readFileSync(join(FOLDER, 'README.md'), 'utf8');
  const rows = [...readme.matchAll(/^\| `(Webhook\w+)` \|/gm)].map(([, name]) => name);
  expect(rows).toEqual(rules.map((rule) => /^\w+/.exec(rule)?.[0]));
  for (const rule of rules)
    expect(rule).toMatch(/severity: (?:warning|critical)[\s\S]+summary: [\s\S]+description: /);
});

test('it exports an app for the tests of users', async () => {
  process.env.SERVICE_PRIVATE_KEY = 'pri_example';
  const { app, hooks } = await import('../../examples/observability/app.js');
  const { shutdown } = await import('../../examples/observability/telemetry.js');
  const printed = jest.spyOn(console, 'dir').mockImplementation(() => {});
  const answer = await deliver(app, fixtures.transactionPaid(), { privateKey: 'pri_example' });
  expect(answer).toMatchObject({ status: 200, body: { outcome: 'processed' } });
  await hooks.close();
  await shutdown();
  const spans = printed.mock.calls.map(([span]) => (span as { name: string }).name);
  expect(spans).toContain('webhook delivery transaction.paid');
});
