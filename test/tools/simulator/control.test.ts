// The control plane under /_sim, as docs/project/control-plane.md describes it.
import { describe, expect, test } from '@jest/globals';
import { until } from '../../setup/waiting.js';
import { type Answer, afterwards, call, first, subscribed } from './world.js';

/** A simulator with a webhook, and requests to its control plane. */
async function plane(...answers: Answer[]) {
  const world = await subscribed({}, ...answers);
  const sim = (method: string, path: string, body?: unknown) =>
    call(`${world.service.baseUrl}/_sim${path}`, { method, body });
  return { ...world, sim };
}

/** Reads server-sent events until the test is over. Resolves once the first is there. @returns those that came so far */
async function events(url: string) {
  const abort = new AbortController();
  afterwards(async () => abort.abort());
  const response = await fetch(url, { signal: abort.signal });
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  let text = '';
  const read = async () => {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString('utf8');
  };
  read().catch(() => {});
  await until(() => text.includes('\n\n'));
  const frame = /^event: (.+)\ndata: (.+)\n\n/gm;
  return () => [...text.matchAll(frame)].map(([, name = '', data = '']) => [name, JSON.parse(data)] as const);
}

test('what-is-documented is that page, which tells the documented header from our choices', async () => {
  const { sim } = await plane();
  const { headers, text } = await sim('GET', '/what-is-documented');
  expect(headers.get('content-type')).toMatch(/^text\/plain/);
  const documented = '`X-SERVICE-SIGNATURE`, with a neutral word in place of the service name';
  expect(text.replaceAll('\n  ', ' ')).toContain(documented);
  expect(text).toContain("## Not documented, and the simulator's choice");
});

test('what-is-documented is a page for a browser, with every heading, row and command', async () => {
  const { sim, service } = await plane();
  const { text: markdown } = await sim('GET', '/what-is-documented');
  const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
  const response = await fetch(`${service.baseUrl}/_sim/what-is-documented`, { headers });
  expect(response.headers.get('content-type')).toMatch(/^text\/html/);
  expect(response.headers.get('content-security-policy')).toContain("script-src 'self'");
  const html = await response.text();
  const countOf = (pattern: RegExp, text: string) => text.match(pattern)?.length ?? 0;
  expect(countOf(/<h[1-6]>/g, html)).toBe(countOf(/^#+ /gm, markdown));
  expect(countOf(/<tr><td>/g, html)).toBe(countOf(/^\| /gm, markdown) - 2 * countOf(/^\| ---/gm, markdown));
  expect(html).toContain('<code>X-SERVICE-SIGNATURE</code>');
  expect(html.replace(/<pre.*?<\/pre>/gs, '')).not.toMatch(/\*\*|\]\(|^\||`/m);
});

test('readyz describes this simulator', async () => {
  const { sim } = await plane();
  const { status, json } = await sim('GET', '/readyz');
  expect(status).toBe(200);
  expect(json).toEqual({
    ...{ ready: true, simulator: 'payment-webhooks', pid: process.pid },
    ...{ started_at: expect.any(String), now: expect.any(String), clock: 'manual' },
    ...{ retry: [2_000, 5_000, 15_000, 60_000], max_attempts: 5, timeout_ms: 15_000 },
    ...{ signature_header: 'X-SERVICE-SIGNATURE', sandbox_signing: 'private-key' },
    ...{ event_names: ['transaction.paid'], fault_kinds: expect.arrayContaining(['duplicate', 'drop']) },
    ...{ state: false, state_error: null },
  });
});

describe('events', () => {
  test('are triggered: accepted at once, delivered soon', async () => {
    const { webhook, sim, received, service } = await plane();
    const { status, json } = await sim('POST', '/events', {
      event_name: 'transaction.paid',
      overrides: { payload: { transaction: { amount: '12.50' } } },
      sandbox: true,
      count: 2,
    });
    expect(status).toBe(202);
    const event = { id: expect.any(String), event_name: 'transaction.paid', sandbox: true };
    expect(json.data.events).toEqual([event, event]);
    const pending = { status: 'pending', webhook_id: webhook.id, attempts: [] };
    expect(json.data.deliveries).toMatchObject([pending, pending]);
    await service.settled();
    const sent = { sandbox: true, payload: { transaction: { amount: '12.50' } } };
    expect(received.map(({ body }) => JSON.parse(String(body)))).toMatchObject([sent, sent]);
  });

  test('with a payload of your own, and a fault', async () => {
    const { sim, received, service } = await plane();
    const event = { event_name: 'transaction.paid', payload: { only: 'this' } };
    const fault = { kind: 'delay', delayMs: 60_000 };
    expect((await sim('POST', '/events', { ...event, fault })).status).toBe(202);
    await service.settled();
    expect(received).toEqual([]);
    await service.advance('1m');
    expect(JSON.parse(String(received[0]?.body)).payload).toEqual({ only: 'this' });
  });

  test('without a subscriber are accepted, with a message', async () => {
    const { sim, webhook } = await plane();
    await sim('DELETE', `/webhooks/${webhook.id}`);
    const { status, json } = await sim('POST', '/events', { event_name: 'transaction.paid' });
    expect([status, json.data.deliveries]).toEqual([202, []]);
    expect(json.message).toMatch(/No webhook subscribes to transaction\.paid/);
  });

  test('come with a complete sample to start from', async () => {
    const { sim } = await plane();
    const { json } = await sim('GET', '/events');
    const sample = { sandbox: false, payload: { transaction: { status: 1 } } };
    expect(json.data).toMatchObject([{ event_name: 'transaction.paid', sample }]);
  });

  test('keep a key named __proto__ as data', async () => {
    const { sim, received, service } = await plane();
    const overrides = '{"payload":{"metadata":{"__proto__":{"polluted":"1"}}}}';
    const raw = `{"event_name":"transaction.paid","overrides":${overrides}}`;
    expect((await sim('POST', '/events', raw)).status).toBe(202);
    await service.settled();
    expect(String(received[0]?.body)).toContain('"__proto__":{"polluted":"1"}');
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
  });

  test.each([
    ['no name', {}, 'event_name'],
    ['a name without a dot', { event_name: 'paid' }, 'event_name'],
    ['a name with a line break', { event_name: 'a.b\r\nX: 1' }, 'event_name'],
    ['overrides that are not an object', { event_name: 'a.b', overrides: [] }, 'overrides'],
    ['an id that is not text', { event_name: 'a.b', overrides: { id: 7 } }, 'overrides'],
    ['a payload that is not an object', { event_name: 'a.b', payload: 'x' }, 'payload'],
    ['a sandbox that is not a boolean', { event_name: 'a.b', sandbox: 'yes' }, 'sandbox'],
    ['too many', { event_name: 'a.b', count: 1_001 }, 'count'],
    ['an unknown fault', { event_name: 'a.b', fault: 'meteor' }, 'fault'],
  ])('are refused: %s', async (_, body, field) => {
    const { sim, service } = await plane();
    const { status, json } = await sim('POST', '/events', body);
    expect([status, Object.keys(json.errors), service.deliveries()]).toEqual([422, [field], []]);
  });
});

test('webhooks are registered, paused, changed and deleted without any key', async () => {
  const { sim, webhook: other, url } = await plane();
  const webhook = (await sim('POST', '/webhooks', { url })).json.data;
  expect(Object.keys(webhook).sort()).toEqual(['created_at', 'events', 'id', 'paused', 'updated_at', 'url']);
  expect((await sim('GET', '/webhooks')).json).toEqual({ data: [other, webhook] });
  const path = `/webhooks/${webhook.id}`;
  expect((await sim('PUT', path, { paused: true })).json.data.paused).toBe(true);
  expect((await sim('PUT', path, { paused: 'yes' })).status).toBe(422);
  const changed = { events: ['a.b'], paused: true };
  expect((await sim('PUT', path, { events: ['a.b'] })).json.data).toMatchObject(changed);
  expect((await sim('DELETE', path)).status).toBe(204);
  expect((await sim('DELETE', path)).status).toBe(404);
  expect((await sim('GET', '/webhooks')).json).toEqual({ data: [other] });
});

describe('deliveries', () => {
  async function some() {
    const world = await plane(500, 200);
    const failing = first(await world.service.trigger('transaction.paid'));
    const fine = first(await world.service.trigger('refund.succeeded'));
    return { ...world, failing, fine };
  }

  test('are listed newest first, and one by one, with every attempt', async () => {
    const { sim, failing, fine } = await some();
    expect((await sim('GET', '/deliveries')).json).toEqual({ data: [fine, failing], total: 2 });
    expect((await sim('GET', `/deliveries/${failing.id}`)).json).toEqual({ data: failing });
    expect((await sim('GET', '/deliveries/unknown')).status).toBe(404);
  });

  test('have exactly the documented fields', async () => {
    const { failing } = await some();
    expect(Object.keys(failing)).toEqual([
      ...['id', 'event_id', 'event_name', 'webhook_id', 'url', 'status', 'attempts'],
      ...['next_attempt_at', 'created_at', 'delivered_at'],
    ]);
    const [attempt] = failing.attempts;
    expect(Object.keys(attempt ?? {})).toEqual([
      ...['number', 'trigger', 'started_at', 'duration_ms', 'succeeded', 'outcome', 'fault', 'diagnosis'],
      ...['will_retry', 'next_attempt_at', 'request', 'response', 'error'],
    ]);
    expect(Object.keys(attempt?.request ?? {})).toEqual(['method', 'url', 'headers', 'body', 'body_sha256']);
    expect(Object.keys(attempt?.response ?? {})).toEqual(['status', 'headers', 'body', 'body_truncated']);
  });

  test('as rows carry no body', async () => {
    const { sim, failing } = await some();
    const { started_at, duration_ms, diagnosis } = first(failing.attempts);
    const last = { started_at, duration_ms, status: 500, error: null, outcome: null, fault: null, diagnosis };
    const { json } = await sim('GET', '/deliveries?view=rows&status=retrying');
    expect(json.data).toEqual([{ ...failing, sandbox: false, attempts: 1, max_attempts: 5, last }]);
  });

  test('are found by status, event, webhook, id and text', async () => {
    const { sim, failing, fine, webhook } = await some();
    const found = async (query: string) =>
      (await sim('GET', `/deliveries?${query}`)).json.data.map(({ id }: { id: string }) => id);
    expect(await found('status=delivered')).toEqual([fine.id]);
    expect(await found('status=delivered,retrying')).toEqual([fine.id, failing.id]);
    expect(await found('status=failed')).toEqual([]);
    expect(await found('event=transaction.*')).toEqual([failing.id]);
    expect(await found(`webhook=${webhook.id}&event=refund.succeeded`)).toEqual([fine.id]);
    expect(await found(`id=${fine.id}`)).toEqual([fine.id]);
    expect(await found(`q=${failing.event_id.slice(0, 13).toUpperCase()}`)).toEqual([failing.id]);
    expect(await found('q=nothing-like-that')).toEqual([]);
    expect((await sim('GET', '/deliveries?limit=1')).json).toEqual({ data: [fine], total: 2 });
    for (const wrong of ['status=lost', 'event=x', 'limit=0', 'limit=ten', 'limit=1001']) {
      expect((await sim('GET', `/deliveries?${wrong}`)).status).toBe(422);
    }
  });

  test('are sent again', async () => {
    const { sim, fine, service, received } = await some();
    const { status, json } = await sim('POST', `/deliveries/${fine.id}/resend`);
    expect([status, json.data.id]).toEqual([202, fine.id]);
    const waited = await sim('GET', `/wait?id=${fine.id}&attempt=2`);
    expect(waited.json.data.attempts).toMatchObject([{ trigger: 'automatic' }, { trigger: 'manual' }]);
    await service.webhooks.delete(fine.webhook_id);
    expect((await sim('POST', `/deliveries/${fine.id}/resend`)).status).toBe(409);
    expect(received).toHaveLength(3);
  });

  test('are retried now, instead of later', async () => {
    const { sim, failing, fine, service, received } = await some();
    expect((await sim('POST', `/deliveries/${failing.id}/retry-now`)).status).toBe(202);
    await service.settled();
    const attempts = [{ trigger: 'automatic' }, { trigger: 'manual' }];
    const { json } = await sim('GET', `/deliveries/${failing.id}`);
    expect(json.data).toMatchObject({ status: 'delivered', next_attempt_at: null, attempts });
    await service.advance('1h');
    expect(received).toHaveLength(3);
    expect((await sim('POST', `/deliveries/${fine.id}/retry-now`)).status).toBe(409);
  });

  test('are cancelled', async () => {
    const { sim, failing, fine, service, received } = await some();
    const { status, json } = await sim('POST', `/deliveries/${failing.id}/cancel`);
    expect([status, json.data.status, json.data.cancelled_because]).toEqual([200, 'cancelled', 'request']);
    expect((await sim('POST', `/deliveries/${failing.id}/cancel`)).status).toBe(409);
    expect((await sim('POST', `/deliveries/${fine.id}/cancel`)).status).toBe(409);
    await service.advance('1h');
    expect(received).toHaveLength(2);
  });

  test('become a curl command without a key, for each attempt', async () => {
    const { sim, fine, service } = await some();
    const command = await sim('GET', `/deliveries/${fine.id}/curl`);
    expect(command.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(command.text).not.toContain(service.privateKey);
    expect((await sim('GET', `/deliveries/${fine.id}/curl?attempt=1`)).text).toBe(command.text);
    expect((await sim('GET', `/deliveries/${fine.id}/curl?attempt=2`)).status).toBe(404);
  });
});

describe('wait', () => {
  test('answers at once when the delivery is there already', async () => {
    const { sim, service } = await plane();
    const [delivery] = await service.trigger('transaction.paid');
    expect((await sim('GET', '/wait?event=transaction.*')).json).toEqual({ data: delivery });
  });

  test('answers as soon as one comes that matches', async () => {
    const { sim } = await plane(500);
    const waiting = sim('GET', '/wait?status=retrying&event=transaction.paid&timeout=20s');
    await sim('POST', '/events', { event_name: 'a.b' });
    await sim('POST', '/events', { event_name: 'transaction.paid' });
    const { status, json } = await waiting;
    expect([status, json.data.event_name, json.data.status]).toEqual([200, 'transaction.paid', 'retrying']);
  });

  test('answers 408 when none comes in time', async () => {
    const { sim } = await plane();
    const { status, json } = await sim('GET', '/wait?timeout=50ms');
    expect([status, json.message]).toEqual([408, expect.any(String)]);
    expect((await sim('GET', '/wait?timeout=2d')).status).toBe(422);
    expect((await sim('GET', '/wait?timeout=soon')).status).toBe(422);
  });

  test('ends when the client disconnects', async () => {
    const { service } = await plane();
    const abort = new AbortController();
    const left = fetch(`${service.baseUrl}/_sim/wait`, { signal: abort.signal });
    setTimeout(() => abort.abort(), 50);
    await expect(left).rejects.toThrow(/abort/i);
  });
});

describe('faults', () => {
  test('are listed, added, used up and removed', async () => {
    const { sim, service } = await plane();
    const rule = { kind: 'wrong_key', event: 'transaction.*', times: 2 };
    const { status, json } = await sim('POST', '/faults', rule);
    const { id } = json.data;
    const rest = { webhook: null, remaining: 2, probability: 1, delayMs: null };
    expect([status, json.data]).toEqual([201, { id: expect.any(String), ...rule, ...rest }]);
    await service.trigger('transaction.paid');
    expect((await sim('GET', '/faults')).json.data).toMatchObject([{ id, remaining: 1 }]);
    expect((await sim('DELETE', `/faults/${id}`)).status).toBe(204);
    expect((await sim('DELETE', `/faults/${id}`)).status).toBe(404);
    await sim('POST', '/faults', { kind: 'drop', times: 'always', probability: 0.5 });
    expect((await sim('DELETE', '/faults')).status).toBe(204);
    expect((await sim('GET', '/faults')).json).toEqual({ data: [] });
  });

  test('that cannot be are refused by field', async () => {
    const { sim } = await plane();
    const wrong = { kind: 'tamper', times: -1, probability: 'high', delayMs: 'soon' };
    const { status, json } = await sim('POST', '/faults', wrong);
    expect([status, Object.keys(json.errors)]).toEqual([422, Object.keys(wrong)]);
  });
});

describe('the stream', () => {
  type Row = { id: string; status: string };

  test('begins with the settings and reports every change', async () => {
    const { service, sim, webhook } = await plane(500, 200);
    const seen = await events(`${service.baseUrl}/_sim/stream`);
    const names = () => new Set(seen().map(([name]) => name));
    const rows = () => seen().flatMap(([name, data]) => (name === 'deliveries' ? (data as Row[]) : []));
    const statuses = () => rows().map(({ status }) => status);
    await sim('PUT', `/webhooks/${webhook.id}`, { events: ['*'] });
    await sim('POST', '/faults', { kind: 'drop', event: 'never.seen' });
    await sim('POST', '/events', { event_name: 'transaction.paid' });
    await until(() => statuses().includes('retrying'));
    await service.advance('2s');
    await until(() => statuses().includes('delivered') && names().has('clock'));
    expect((await sim('POST', '/reset')).status).toBe(204);
    await until(() => names().has('reset'));
    expect((await sim('GET', '/deliveries')).json).toEqual({ data: [], total: 0 });
    expect(seen()[0]).toEqual(['hello', expect.objectContaining({ ready: true })]);
    expect(names()).toEqual(new Set(['hello', 'webhooks', 'faults', 'deliveries', 'clock', 'reset']));
    // On a slow machine an attempt is seen while it is under way.
    const settled = statuses().filter((status) => !['pending', 'in_flight'].includes(status));
    expect(settled).toEqual(['retrying', 'delivered']);
  });

  test('reports dropped deliveries, and collects a burst', async () => {
    const { service, sim } = await plane();
    await service.trigger('transaction.paid', {}, { count: 500 });
    const seen = await events(`${service.baseUrl}/_sim/stream`);
    const began = performance.now();
    await sim('POST', '/events', { event_name: 'transaction.paid', count: 50 });
    const of = (kind: string) => seen().filter(([name]) => name === kind);
    const removed = () => new Set(of('removed').flatMap(([, ids]) => ids as string[]));
    const rows = () => of('deliveries').flatMap(([, data]) => data as Row[]);
    const delivered = () => new Set(rows().flatMap(({ id, status }) => (status === 'delivered' ? [id] : [])));
    await until(() => removed().size === 50 && delivered().size === 50);
    // One in a tenth of a second, however long it took; each delivery has changed three times.
    expect(of('deliveries').length).toBeLessThan((performance.now() - began) / 100 + 2);
  });

  test('ends when the simulator closes', async () => {
    const { service } = await plane();
    const response = await fetch(`${service.baseUrl}/_sim/stream`);
    const text = response.text();
    await service.close();
    expect(await text).toMatch(/^event: hello/);
  });
});

test('an unknown path is 404, and an unreadable body is 400', async () => {
  const { sim, service } = await plane();
  expect((await sim('GET', '/nothing')).status).toBe(404);
  expect((await sim('POST', '/events', '{')).status).toBe(400);
  expect((await sim('POST', '/events', '[1]')).status).toBe(422);
  expect((await call(`${service.baseUrl}/../../etc/passwd`)).status).toBe(404);
});
