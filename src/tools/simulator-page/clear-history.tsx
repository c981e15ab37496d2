// Deletes the finished deliveries, after a question that counts them.
import { DialogButton } from '../pages/components/dialog.js';
import { focus } from '../pages/components/focus.js';
import { Form } from '../pages/components/form.js';
import { api, type DeliveryStatus, type Row } from './api.js';

const FINISHED: ReadonlySet<DeliveryStatus> = new Set(['delivered', 'failed', 'cancelled']);

interface ClearHistoryProps {
  readonly rows: readonly Row[];
  /** Called with what was deleted. */
  readonly cleared: (ids: ReadonlySet<string>) => void;
}

export function ClearHistory({ rows, cleared }: ClearHistoryProps) {
  return (
    <DialogButton title="Clear history" text="Clear history" look="quiet">
      {(close) => <Question rows={rows} cleared={cleared} close={close} />}
    </DialogButton>
  );
}

function Question({ rows, cleared, close }: ClearHistoryProps & { close: () => void }) {
  const finished = rows.filter(({ status }) => FINISHED.has(status)).map(({ id }) => id);
  const pending = rows.length - finished.length;
  const clear = async () => {
    await api.clearHistory();
    close();
    cleared(new Set(finished));
    focus('#main');
  };
  return (
    <Form verb="Clear" submit={clear} cancel={close} cancelVerb="Keep" disabled={finished.length === 0}>
      <p>{question(finished.length)}</p>
      {pending > 0 && <p>{remark(pending)}</p>}
    </Form>
  );
}

function question(finished: number): string {
  if (finished === 0) return 'No delivery is finished yet.';
  return finished === 1 ? 'Delete 1 finished delivery?' : `Delete ${finished} finished deliveries?`;
}

function remark(pending: number): string {
  return pending === 1
    ? '1 pending delivery stays, and is retried.'
    : `${pending} pending deliveries stay, and are retried.`;
}
