// The status of a delivery: a shape, a word, and a colour that only repeats them.
import type { Status as Name } from '../live/wire.js';
import { Icon } from '../parts/icon.js';

export const STATUS_WORDS: Readonly<Record<Name, string>> = {
  pending: 'Pending',
  in_flight: 'In flight',
  retrying: 'Retrying',
  delivered: 'Delivered',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

export function Status({ status }: { status: Name }) {
  return (
    <span class={`status tone-${status}`}>
      <Icon name={status} />
      {STATUS_WORDS[status]}
    </span>
  );
}
