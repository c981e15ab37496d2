// The API client of the page, for the control plane of its own origin, and the types of what it answers.
// From the simulator come only types: none of its code is in the bundle.
import { apiClient } from '../pages/components/api-client.js';
import type { Webhook } from '../simulator/api/registrations.js';
import type { Delivery, DeliveryRow as Row } from '../simulator/delivery/delivery-record.js';
import type { Fault, FaultKind, FaultRule } from '../simulator/delivery/faults.js';

export type { Webhook } from '../simulator/api/registrations.js';
export type { Attempt, Delivery, DeliveryRow as Row } from '../simulator/delivery/delivery-record.js';
export type { DeliveryStatus } from '../simulator/delivery/delivery-status.js';
export type { Fault, FaultKind, FaultRule } from '../simulator/delivery/faults.js';

/** How the simulator was started. */
export interface Settings {
  readonly now: string;
  readonly clock: 'real' | 'manual';
  readonly signature_header: string;
  readonly sandbox_signing: 'private-key' | 'sandbox-key';
  readonly fault_kinds: readonly FaultKind[];
  readonly state_error: string | null;
}

/** A declared event with a complete sample. */
export interface Sample {
  readonly event_name: string;
  readonly sample: { readonly payload: object };
}

type WebhookFields = Partial<Pick<Webhook, 'url' | 'events' | 'paused'>>;

export interface Trigger {
  readonly event_name: string;
  readonly payload: object;
  readonly sandbox?: boolean;
  readonly count?: number;
  readonly fault?: FaultKind;
}

export interface TriggerResult {
  readonly data: { readonly events: readonly unknown[]; readonly deliveries: readonly Delivery[] };
  /** A remark of the simulator, such as that no webhook subscribes to the event. */
  readonly message?: string;
}

const request = apiClient({
  base: '/_sim/',
  name: 'The simulator',
  ifSilent: 'Check that it is running.',
});

const MAX_ROWS = 1_000;

interface Found {
  readonly data: readonly Row[];
  /** How many match, those that are not in `data` too. */
  readonly total: number;
}

export const api = {
  /** @param offset how many newer ones are known */
  rows: (offset = 0) => found(`limit=${MAX_ROWS}${offset > 0 ? `&offset=${offset}` : ''}`),
  count: async (filter: Readonly<Record<string, string>> = {}) =>
    (await found(`limit=1&${new URLSearchParams(filter)}`)).total,
  /** The ids of those that have the text in their body, which the page does not list. */
  withPayload: async (payload: string) =>
    new Set((await found(`limit=${MAX_ROWS}&${new URLSearchParams({ payload })}`)).data.map(({ id }) => id)),
  /** Finished deliveries only. */
  clearHistory: () => request('DELETE', 'deliveries'),
  delivery: (id: string) => data<Delivery>('GET', pathOf('deliveries', id)),
  resend: (id: string) => request('POST', `${pathOf('deliveries', id)}/resend`, {}),
  retryNow: (id: string) => request('POST', `${pathOf('deliveries', id)}/retry-now`, {}),
  cancel: (id: string) => request('POST', `${pathOf('deliveries', id)}/cancel`, {}),
  async curl(id: string, attempt: number): Promise<string> {
    return (await request('GET', `${pathOf('deliveries', id)}/curl?attempt=${attempt}`)).text();
  },
  /** The bytes that were signed, and the signature that the bytes as sent would need. */
  signature: (id: string, attempt: number) =>
    data<{ signed: string; expected: string }>(
      'GET',
      `${pathOf('deliveries', id)}/signature?attempt=${attempt}`,
    ),
  samples: () => data<Sample[]>('GET', 'events'),
  async trigger(event: Trigger): Promise<TriggerResult> {
    return (await request('POST', 'events', event)).json();
  },
  webhooks: () => data<Webhook[]>('GET', 'webhooks'),
  createWebhook: (fields: WebhookFields) => request('POST', 'webhooks', fields),
  updateWebhook: (id: string, fields: WebhookFields) => request('PUT', pathOf('webhooks', id), fields),
  deleteWebhook: (id: string) => request('DELETE', pathOf('webhooks', id)),
  faults: () => data<Fault[]>('GET', 'faults'),
  addFault: (rule: FaultRule) => request('POST', 'faults', rule),
  removeFault: (id: string) => request('DELETE', pathOf('faults', id)),
  /** @returns the new private key, which is told only here */
  async rotateKey(): Promise<string> {
    return (await data<{ private_key: string }>('POST', 'keys/rotate', {})).private_key;
  },
  removeFaults: () => request('DELETE', 'faults'),
};

function pathOf(list: string, id: string): string {
  return `${list}/${encodeURIComponent(id)}`;
}

async function found(query: string): Promise<Found> {
  return (await request('GET', `deliveries?view=rows&${query}`)).json();
}

async function data<Data>(method: string, path: string, body?: object): Promise<Data> {
  return (await (await request(method, path, body)).json()).data;
}
