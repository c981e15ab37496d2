// The status of a delivery as the page shows it.
import type { Delivery, DeliveryStatus, Row } from './api.js';

/** Deliveries that were accepted although a fault had changed them are a status of their own. */
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

/** Of the row, which is there first, or of the whole delivery. */
export function shownStatus({ status, ...delivery }: Row | Delivery): ShownStatus {
  if (status !== 'delivered') return status;
  const last = 'last' in delivery ? delivery.last : delivery.attempts.at(-1);
  const code = last && ('response' in last ? last.response?.status : last.status);
  // An attempt that succeeded has a diagnosis only when it should have failed.
  return last?.diagnosis != null && code != null && code < 300 ? 'wrongly_accepted' : status;
}
