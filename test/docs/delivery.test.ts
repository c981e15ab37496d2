// Holds docs/delivery.md to what the receiver does.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { RequestHandler } from 'express';
import { fixtures } from 'payment-webhooks/testing';
import { delivery } from '../setup/delivery.js';
import { expresses, type Reply, startEndpoint } from '../setup/endpoint.js';
import { ROOT } from '../setup/shell.js';

const page = readFileSync(join(ROOT, 'docs/delivery.md'), 'utf8');
const [, section = ''] = /\n## Where the bytes come from\n(.*?)\n## /s.exec(page) ?? [];

describe.each(expresses)('the order of the sources of a body, on %s', (framework) => {
  // Of one length, so that each fits the Content-Length of the others.
  const events = { stream: 'event-1', 'req.rawBody': 'event-2', 'req.body': 'event-3' };
  type Source = keyof typeof events;
  const bodyOf = (source: Source) => delivery(fixtures.transactionPaid({ id: events[source] }));

  /** Delivers with other bytes in each source, all of them authentic, and says which one the receiver has taken. */
  async function taken(present: readonly Source[]): Promise<Source | string> {
    const drain: RequestHandler = (request, _response, next) => void request.resume().once('end', next);
    const leave: RequestHandler = (request, _response, next) => {
      if (present.includes('req.rawBody')) Object.assign(request, { rawBody: bodyOf('req.rawBody').body });
      Object.assign(request, { body: present.includes('req.body') ? bodyOf('req.body').body : {} });
      next();
    };
    const before = () => (present.includes('stream') ? [leave] : [drain, leave]);
    const endpoint = await startEndpoint({}, { framework, before });
    const replies: Reply[] = [];
    for (const source of Object.keys(events) as Source[]) {
      const reply = await endpoint.post({ body: bodyOf('stream').body, headers: bodyOf(source).headers });
      if (reply.status === 200) return source;
      replies.push(reply);
    }
    return [...new Set(replies.map(({ body }) => (body as { code?: string }).code))].join();
  }

  test('is the one that the page shows', async () => {
    const shown = [...section.matchAll(/^\d\. (.*)$/gm)].map(
      ([, item = '']) => /stream|req\.rawBody|req\.body|BODY_CONSUMED/.exec(item)?.[0],
    );
    const all = Object.keys(events) as Source[];
    expect([await taken(all), await taken(all.slice(1)), await taken(all.slice(2)), await taken([])]).toEqual(
      shown,
    );
  });
});
