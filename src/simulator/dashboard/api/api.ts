// The API client of the page, for the control plane of its own origin.
import type { Delivery, Fault, Row, Sample, Webhook } from './api-types.js';

/** The simulator answered with an error, or did not answer (status 0). */
export class ApiError extends Error {
  /** The problems of each field. */
  readonly fields: Readonly<Record<string, readonly string[]>>;
  readonly status: number;

  constructor(message: string, status = 0, fields: ApiError['fields'] = {}) {
    super(message);
    this.status = status;
    this.fields = fields;
  }
}

/** More finished deliveries than the simulator keeps. */
const MAX_ROWS = 1000;

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

export interface TriggerResult {
  readonly data: { readonly events: readonly { id: string }[]; readonly deliveries: readonly unknown[] };
  /** A remark of the simulator, such as that no webhook subscribes to the event. */
  readonly message?: string;
}

export const api = {
  rows: () => data<Row[]>('GET', `deliveries?view=rows&limit=${MAX_ROWS}`),
  delivery: (id: string) => data<Delivery>('GET', `deliveries/${encodeURIComponent(id)}`),
  resend: (id: string) => data<Delivery>('POST', `deliveries/${encodeURIComponent(id)}/resend`, {}),
  retryNow: (id: string) => data<Delivery>('POST', `deliveries/${encodeURIComponent(id)}/retry-now`, {}),
  cancel: (id: string) => data<Delivery>('POST', `deliveries/${encodeURIComponent(id)}/cancel`, {}),
  async curl(id: string, attempt: number): Promise<string> {
    const response = await request('GET', `deliveries/${encodeURIComponent(id)}/curl?attempt=${attempt}`);
    return response.text();
  },
  samples: () => data<Sample[]>('GET', 'events'),
  async trigger(event: Trigger): Promise<TriggerResult> {
    return (await request('POST', 'events', event)).json();
  },
  webhooks: () => data<Webhook[]>('GET', 'webhooks'),
  createWebhook: (fields: WebhookFields) => data<Webhook>('POST', 'webhooks', fields),
  updateWebhook: (id: string, fields: WebhookFields) =>
    data<Webhook>('PUT', `webhooks/${encodeURIComponent(id)}`, fields),
  deleteWebhook: (id: string) => request('DELETE', `webhooks/${encodeURIComponent(id)}`),
  faults: () => data<Fault[]>('GET', 'faults'),
  addFault: (fields: FaultFields) => data<Fault>('POST', 'faults', fields),
  removeFault: (id: string) => request('DELETE', `faults/${encodeURIComponent(id)}`),
  removeFaults: () => request('DELETE', 'faults'),
};

async function data<Data>(method: string, path: string, body?: object): Promise<Data> {
  const response = await request(method, path, body);
  return (await response.json()).data;
}

async function request(method: string, path: string, body?: object): Promise<Response> {
  const response = await fetch(`/_sim/${path}`, {
    method,
    headers: { Accept: 'application/json', ...(body && { 'Content-Type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new ApiError('The simulator does not answer. Check that it is running.');
  });
  if (response.ok) return response;
  const failure = await response.json().catch(() => ({}));
  throw new ApiError(
    failure.message ?? `The simulator answered with status ${response.status}.`,
    response.status,
    failure.errors,
  );
}
