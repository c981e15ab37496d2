// What can be done with a delivery.
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
  return (
    <div class="actions">
      {waiting && (
        <button type="button" class="button primary" disabled={retry.busy} onClick={() => retry.run(id)}>
          Retry now
        </button>
      )}
      <button type="button" class="button" disabled={resend.busy} onClick={() => resend.run(id)}>
        Resend
      </button>
      {attempt !== undefined && <CopyButton label="Copy as curl" text={() => api.curl(id, attempt)} />}
      {waiting && (
        <button type="button" class="button quiet" disabled={cancel.busy} onClick={() => cancel.run(id)}>
          Cancel retries
        </button>
      )}
    </div>
  );
}
