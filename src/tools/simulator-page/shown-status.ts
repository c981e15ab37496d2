// The status of a delivery as the page shows it.
import type { DeliveryStatus } from '../simulator/delivery/delivery-status.js';
import type { Attempt, Delivery, Row } from './api.js';

/** `wrongly_accepted`: the endpoint accepted a delivery that a fault had changed. */
export type ShownStatus = DeliveryStatus | 'wrongly_accepted';

export const STATUS_LABELS: Readonly<Record<ShownStatus, string>> = {
  pending: 'Pending',
  in_flight: 'In flight',
  retrying: 'Retrying',
  delivered: 'Delivered',
  wrongly_accepted: 'Wrongly accepted',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

/** Takes a row, which loads first, or a whole delivery. */
export function shownStatus(delivery: Row | Delivery): ShownStatus {
  if (delivery.status !== 'delivered') return delivery.status;
  const last = 'last' in delivery ? delivery.last : delivery.attempts.at(-1);
  const code = last && ('response' in last ? last.response?.status : last.status);
  // An attempt that succeeded has a diagnosis only when it should have failed.
  return last?.diagnosis != null && code != null && code < 300 ? 'wrongly_accepted' : 'delivered';
}

/** An attempt that succeeded has a diagnosis only when it should have failed. */
export function attemptStatus({ succeeded, diagnosis }: Attempt): ShownStatus {
  if (!succeeded) return 'failed';
  return diagnosis === null ? 'delivered' : 'wrongly_accepted';
}
