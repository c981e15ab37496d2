// What the control plane sends to the page. Only types come from the other side: no code of it is in the bundle.
import type { FaultKind } from '../../fault-kinds.js';

export type { Attempt, Delivery, DeliveryStatus as Status, HeaderPair } from '../../delivery.js';
export type { FaultKind } from '../../fault-kinds.js';
export type { Fault } from '../../faults.js';
export type { Webhook } from '../../registrations.js';
export type { Row } from '../../row.js';

/** How the simulator was started. */
export interface Settings {
  readonly now: string;
  readonly clock: 'real' | 'manual';
  readonly retry: readonly number[];
  readonly timeout_ms: number;
  readonly signature_header: string;
  readonly sandbox_signing: 'private-key' | 'sandbox-key';
  readonly event_names: readonly string[];
  readonly fault_kinds: readonly FaultKind[];
  readonly state: boolean;
  readonly state_error: string | null;
}

/** A declared event with a complete sample of it. */
export interface Sample {
  readonly event_name: string;
  readonly sample: { readonly payload: object };
}
