// The header of the detail: which delivery it is, its status, and what can be done with it.

import { Button, CloseButton } from '../pages/components/button.js';
import { CopyButton } from '../pages/components/copy-button.js';
import { focus } from '../pages/components/focus.js';
import { api, type Delivery, type Row } from './api.js';
import { STATUS_LABELS, Status } from './status.js';

interface DetailHeaderProps {
  readonly id: string;
  /** The row of the list, which is there first, or the whole delivery. */
  readonly delivery: Row | Delivery | undefined;
  readonly sandbox: boolean;
  /** What the endpoint says it did with the event. */
  readonly outcome: string | null | undefined;
  /** The attempt that is shown. */
  readonly attempt: number | undefined;
  readonly close: () => void;
}

export function DetailHeader({ id, delivery, sandbox, outcome, attempt, close }: DetailHeaderProps) {
  return (
    <header class="stack">
      <div class="spread">
        <h2 class="wrap" id="detail-title" tabIndex={-1}>
          {delivery?.event_name ?? 'Delivery'}
          {delivery && <span class="visually-hidden">, {STATUS_LABELS[delivery.status]}</span>}
        </h2>
        <CloseButton label="Close delivery" close={close} />
      </div>
      {delivery && (
        <>
          <p class="cluster">
            <Status status={delivery.status} />
            {outcome && <span class="muted">{outcome}</span>}
            {sandbox && <span class="tag">sandbox</span>}
            <span class="mono muted wrap">{delivery.url}</span>
          </p>
          <p class="cluster">
            <span class="muted">Event</span>
            <span class="mono wrap">{delivery.event_id}</span>
            <CopyButton label="Copy" name="Copy event ID" text={delivery.event_id} look="quiet small" />
          </p>
          <DeliveryActions id={id} waiting={delivery.next_attempt_at !== null} attempt={attempt} />
        </>
      )}
    </header>
  );
}

interface DeliveryActionsProps {
  readonly id: string;
  /** Whether an attempt is scheduled. */
  readonly waiting: boolean;
  readonly attempt: number | undefined;
}

function DeliveryActions({ id, waiting, attempt }: DeliveryActionsProps) {
  // Both buttons disappear with the scheduled attempt. The heading tells the new status.
  const end = (action: (id: string) => Promise<unknown>) => {
    focus('#detail-title');
    return action(id);
  };
  return (
    <div class="cluster">
      {waiting && (
        <Button look="primary" act={() => end(api.retryNow)}>
          Retry now
        </Button>
      )}
      <Button act={() => api.resend(id)}>Resend</Button>
      {attempt !== undefined && <CopyButton label="Copy as curl" text={() => api.curl(id, attempt)} />}
      {waiting && <Button act={() => end(api.cancel)}>Cancel retries</Button>}
    </div>
  );
}
