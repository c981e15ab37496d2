// The client for the simulator's control plane, and the types of its answers.
// Imports only types from the simulator, so that its code stays out of the bundle.
import { apiClient } from '../../web/components/api-client.js';
import type { Webhook } from '../api/registrations.js';
import type { Attempt, Delivery, DeliveryRow as Row } from '../delivery/delivery-record.js';
import type { Fault, FaultKind, FaultRule } from '../delivery/faults.js';
import type { SignatureFinding } from '../delivery/simulated-delivery.js';
import type { Service } from '../service.js';

export type { Attempt, Delivery, Fault, FaultKind, FaultRule, Row, Webhook };

export type Settings = ReturnType<Service['describe']>;

export interface Sample {
  readonly event_name: string;
  readonly sample: { readonly payload: object };
}

interface Trigger {
  readonly event_name: string;
  readonly payload: object;
  readonly sandbox?: boolean;
  readonly count?: number;
  readonly fault?: FaultKind;
}

interface TriggerResult {
  readonly data: { readonly events: readonly unknown[]; readonly deliveries: readonly Delivery[] };
  readonly message?: string;
}

type WebhookFields = Partial<Pick<Webhook, 'url' | 'events' | 'paused'>>;

const request = apiClient({
  base: '/_sim/',
  name: 'The simulator',
  ifSilent: 'Check that it is running.',
});

const MAX_ROWS = 1_000;

export const api = {
  /** @param offset how many newer rows to skip */
  rows: (offset?: number) => found({ limit: MAX_ROWS, ...(offset && { offset }) }),
  count: async (filter?: object) => (await found({ limit: 1, ...filter })).total,
  /** The ids of the deliveries whose body contains the text. The page itself has no bodies. */
  withPayload: async (payload: string) =>
    new Set((await found({ limit: MAX_ROWS, payload })).data.map(({ id }) => id)),
  clearHistory: () => request('DELETE', 'deliveries'),
  delivery: (id: string) => data<Delivery>('GET', pathOf('deliveries', id)),
  resend: (id: string) => request('POST', `${pathOf('deliveries', id)}/resend`, {}),
  retryNow: (id: string) => request('POST', `${pathOf('deliveries', id)}/retry-now`, {}),
  cancel: (id: string) => request('POST', `${pathOf('deliveries', id)}/cancel`, {}),
  curl: async (id: string, attempt: number) =>
    (await request('GET', `${pathOf('deliveries', id)}/curl?attempt=${attempt}`)).text(),
  /** The signed bytes, and the correct signature of the bytes that were sent; of a captured delivery, which header has it. */
  signature: (id: string, attempt: number) =>
    data<{ signed: string; expected?: string; finding?: SignatureFinding }>(
      'GET',
      `${pathOf('deliveries', id)}/signature?attempt=${attempt}`,
    ),
  samples: () => data<Sample[]>('GET', 'events'),
  trigger: async (event: Trigger): Promise<TriggerResult> => (await request('POST', 'events', event)).json(),
  webhooks: () => data<Webhook[]>('GET', 'webhooks'),
  createWebhook: (fields: WebhookFields) => request('POST', 'webhooks', fields),
  updateWebhook: (id: string, fields: WebhookFields) => request('PUT', pathOf('webhooks', id), fields),
  deleteWebhook: (id: string) => request('DELETE', pathOf('webhooks', id)),
  faults: () => data<Fault[]>('GET', 'faults'),
  addFault: (rule: FaultRule) => request('POST', 'faults', rule),
  removeFault: (id: string) => request('DELETE', pathOf('faults', id)),
  removeFaults: () => request('DELETE', 'faults'),
  /** Nothing else returns the new private key. */
  rotateKey: async () => (await data<{ private_key: string }>('POST', 'keys/rotate', {})).private_key,
};

function pathOf(list: string, id: string): string {
  return `${list}/${encodeURIComponent(id)}`;
}

export interface Found {
  readonly data: readonly Row[];
  /** How many match, including those not in `data`. */
  readonly total: number;
}

async function found(filter: object): Promise<Found> {
  const query = new URLSearchParams(Object.entries(filter));
  return (await request('GET', `deliveries?view=rows&${query}`)).json();
}

async function data<Data>(method: string, path: string, body?: object): Promise<Data> {
  return (await (await request(method, path, body)).json()).data;
}
