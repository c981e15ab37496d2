// The calls that the page makes to the control plane of its own origin.
import type { Delivery, Fault, Row, Sample, Webhook } from './wire.js';

/** The simulator said no, or did not answer. */
export class Refused extends Error {
  /** What is wrong, by field. */
  readonly fields: Readonly<Record<string, readonly string[]>>;
  readonly status: number;

  constructor(message: string, status = 0, fields: Refused['fields'] = {}) {
    super(message);
    this.status = status;
    this.fields = fields;
  }
}

/** The deliveries that the page lists: more than the simulator keeps of finished ones. */
const MOST_ROWS = 1000;

export interface WebhookFields {
  readonly url?: string;
  readonly events?: readonly string[];
  readonly paused?: boolean;
}

export interface FaultFields {
  readonly kind: string;
  readonly event?: string;
  readonly webhook?: string;
  readonly times?: number | 'always';
  readonly probability?: number;
  readonly delayMs?: number;
}

export interface Trigger {
  readonly event_name: string;
  readonly payload: unknown;
  readonly sandbox: boolean;
  readonly count: number;
  readonly fault?: { readonly kind: string; readonly delayMs?: number };
}

/** What came of a trigger: how many, and what the simulator remarks about it. */
export interface Triggered {
  readonly data: { readonly events: readonly { id: string }[]; readonly deliveries: readonly unknown[] };
  readonly message?: string;
}

export const api = {
  rows: () => data<Row[]>('GET', `deliveries?view=rows&limit=${MOST_ROWS}`),
  delivery: (id: string) => data<Delivery>('GET', `deliveries/${encodeURIComponent(id)}`),
  resend: (id: string) => data<Delivery>('POST', `deliveries/${encodeURIComponent(id)}/resend`, {}),
  retryNow: (id: string) => data<Delivery>('POST', `deliveries/${encodeURIComponent(id)}/retry-now`, {}),
  cancel: (id: string) => data<Delivery>('POST', `deliveries/${encodeURIComponent(id)}/cancel`, {}),
  async curl(id: string, attempt: number): Promise<string> {
    const answer = await ask('GET', `deliveries/${encodeURIComponent(id)}/curl?attempt=${attempt}`);
    return answer.text();
  },
  samples: () => data<Sample[]>('GET', 'events'),
  async trigger(event: Trigger): Promise<Triggered> {
    return (await ask('POST', 'events', event)).json();
  },
  webhooks: () => data<Webhook[]>('GET', 'webhooks'),
  createWebhook: (fields: WebhookFields) => data<Webhook>('POST', 'webhooks', fields),
  updateWebhook: (id: string, fields: WebhookFields) =>
    data<Webhook>('PUT', `webhooks/${encodeURIComponent(id)}`, fields),
  deleteWebhook: (id: string) => ask('DELETE', `webhooks/${encodeURIComponent(id)}`),
  faults: () => data<Fault[]>('GET', 'faults'),
  addFault: (fields: FaultFields) => data<Fault>('POST', 'faults', fields),
  removeFault: (id: string) => ask('DELETE', `faults/${encodeURIComponent(id)}`),
  removeFaults: () => ask('DELETE', 'faults'),
};

async function data<Data>(method: string, path: string, body?: object): Promise<Data> {
  const answer = await ask(method, path, body);
  return (await answer.json()).data;
}

async function ask(method: string, path: string, body?: object): Promise<Response> {
  const answer = await fetch(`/_sim/${path}`, {
    method,
    headers: { Accept: 'application/json', ...(body && { 'Content-Type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new Refused('The simulator does not answer. Is it still running?');
  });
  if (answer.ok) return answer;
  const refusal = await answer.json().catch(() => ({}));
  throw new Refused(
    refusal.message ?? `The simulator answered ${answer.status}.`,
    answer.status,
    refusal.errors,
  );
}
