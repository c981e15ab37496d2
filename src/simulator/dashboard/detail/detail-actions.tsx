// What can be done with a delivery.

import { focusDetail } from '../deliveries/focus.js';
import { api } from '../live/api.js';
import { CopyButton } from '../parts/copy-button.js';
import { useAction } from '../parts/notice.js';

interface DetailActionsProps {
  readonly id: string;
  readonly waiting: boolean;
  /** The attempt that is shown. */
  readonly attempt: number | undefined;
}

export function DetailActions({ id, waiting, attempt }: DetailActionsProps) {
  const resend = useAction(api.resend);
  const retry = useAction(api.retryNow);
  const cancel = useAction(api.cancel);
  // Both buttons go away with what they end; the heading says how it stands now.
  const end = (action: (id: string) => void) => {
    focusDetail();
    action(id);
  };
  return (
    <div class="actions">
      {waiting && (
        <button type="button" class="button primary" onClick={() => end(retry)}>
          Retry now
        </button>
      )}
      <button type="button" class="button" onClick={() => resend(id)}>
        Resend
      </button>
      {attempt !== undefined && <CopyButton label="Copy as curl" text={() => api.curl(id, attempt)} />}
      {waiting && (
        <button type="button" class="button quiet" onClick={() => end(cancel)}>
          Cancel retries
        </button>
      )}
    </div>
  );
}
