// The head of the detail: which delivery this is, how it stands, and what can be done about it.
import { DETAIL_TITLE } from '../deliveries/focus.js';
import { STATUS_WORDS, Status } from '../deliveries/status.js';
import type { Delivery, Row } from '../live/wire.js';
import { Icon } from '../parts/icon.js';
import { DetailActions } from './detail-actions.js';

interface DetailHeadProps {
  readonly id: string;
  /** The row of the list, which is there first, or the whole record. */
  readonly shown: Row | Delivery | undefined;
  readonly sandbox: boolean;
  readonly attempt: number | undefined;
  readonly close: () => void;
}

export function DetailHead({ id, shown, sandbox, attempt, close }: DetailHeadProps) {
  return (
    <header class="detail-head">
      <div class="detail-title-line">
        <h2 id={DETAIL_TITLE} tabIndex={-1}>
          {shown?.event_name ?? 'Delivery'}
          {shown && <span class="visually-hidden">, {STATUS_WORDS[shown.status]}</span>}
        </h2>
        <button type="button" class="button quiet square" aria-label="Close the detail" onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      {shown && (
        <>
          <p class="detail-facts">
            <Status status={shown.status} />
            {sandbox && <span class="tag">sandbox</span>}
            <span class="mono muted wrap">{shown.url}</span>
          </p>
          <DetailActions id={id} waiting={shown.next_attempt_at !== null} attempt={attempt} />
        </>
      )}
    </header>
  );
}
