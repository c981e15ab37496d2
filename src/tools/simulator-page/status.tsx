// The status of a delivery, and of the response to an attempt.
import { Icon } from '../pages/components/icon.js';
import { type ShownStatus, STATUS_LABELS } from './texts.js';

/** An icon and a word, so that the status never depends on colour alone. */
export function Status({ status }: { status: ShownStatus }) {
  return (
    <span class={`status cluster tone-${status}`}>
      <Icon name={status} />
      <span>{STATUS_LABELS[status]}</span>
    </span>
  );
}

interface ResponseStatusProps {
  readonly status: number | null | undefined;
  readonly error: string | null | undefined;
  /** From the response body, e.g. `ignored`. */
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
