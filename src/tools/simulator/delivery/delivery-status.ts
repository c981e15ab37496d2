// The statuses of a delivery, in one list: the simulator, its page and its state file use it.
export const deliveryStatuses = [
  'pending',
  'in_flight',
  'retrying',
  'delivered',
  'failed',
  'cancelled',
] as const;

/** `cancelled`: its webhook was deleted or paused, or a request cancelled it. */
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** What an endpoint may say that it did with an event, other than process it: a 2xx all the same. */
export type Unprocessed = 'ignored' | 'kept';

export function unprocessed(outcome: string | null | undefined): Unprocessed | undefined {
  return outcome === 'ignored' || outcome === 'kept' ? outcome : undefined;
}
