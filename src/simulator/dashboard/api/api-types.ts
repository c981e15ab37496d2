// The types of the control plane. Imported as types only: no code of the simulator is in the bundle.
import type { FaultKind } from '../../delivery/faults.js';

export type { Webhook } from '../../api/registrations.js';
export type { Attempt, Delivery, DeliveryRow as Row } from '../../delivery/delivery-record.js';
export type { DeliveryStatus } from '../../delivery/delivery-status.js';
export type { Fault, FaultKind } from '../../delivery/faults.js';
export type { HeaderPair } from '../../delivery/simulated-delivery.js';

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

/** A declared event with a complete sample. */
export interface Sample {
  readonly event_name: string;
  readonly sample: { readonly payload: object };
}
