// The status of a delivery, and of the response to an attempt.

import { Icon } from '../pages/components/icon.js';
import type { DeliveryStatus } from './api.js';

export const STATUS_LABELS: Readonly<Record<DeliveryStatus, string>> = {
  pending: 'Pending',
  in_flight: 'In flight',
  retrying: 'Retrying',
  delivered: 'Delivered',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

/** A shape and a word; the colour only repeats them. */
export function Status({ status }: { status: DeliveryStatus }) {
  return (
    <span class={`status cluster tone-${status}`}>
      <Icon name={status} />
      {STATUS_LABELS[status]}
    </span>
  );
}

interface ResponseStatusProps {
  readonly status: number | null | undefined;
  readonly error: string | null | undefined;
  /** The outcome that the endpoint names, such as `ignored`. */
  readonly outcome: string | null | undefined;
}

export function ResponseStatus({ status, error, outcome }: ResponseStatusProps) {
  return (
    <span>
      <span class="mono">{status ?? error ?? '–'}</span>
      {outcome && <span class="note"> {outcome}</span>}
    </span>
  );
}
