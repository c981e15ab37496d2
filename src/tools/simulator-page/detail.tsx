// One delivery: why it failed, its attempts, and what was sent and answered.
import { memo } from 'preact/compat';
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../pages/components/api-error.js';
import { Icon } from '../pages/components/icon.js';
import { type Attempt, api, type Delivery, type Row, type Settings } from './api.js';
import { AttemptTabs } from './attempt-tabs.js';
import { Attempts } from './attempts.js';
import { DetailHeader } from './detail-header.js';

interface DetailProps {
  readonly id: string;
  /** The row of the list, as long as it is listed. */
  readonly row: Row | undefined;
  readonly settings: Settings | undefined;
  readonly close: () => void;
}

const CANCELLED = {
  webhook_deleted: 'Cancelled: the webhook was deleted.',
  webhook_paused: 'Cancelled: the webhook was paused.',
  request: 'Cancelled manually.',
} as const;

export const Detail = memo(({ id, row, settings, close }: DetailProps) => {
  const { delivery, problem } = useDelivery(id, row);
  // Undefined follows the latest attempt.
  const [chosen, choose] = useState<number>();
  const attempts = delivery?.attempts ?? [];
  const attempt = attempts.find(({ number }) => number === chosen) ?? attempts.at(-1);
  const sandbox = row?.sandbox ?? false;
  return (
    <section class="detail stack" aria-labelledby="detail-title">
      <DetailHeader
        id={id}
        delivery={row ?? delivery}
        sandbox={sandbox}
        outcome={attempts.at(-1)?.outcome}
        attempt={attempt?.number}
        close={close}
      />
      {problem && (
        <p class="callout" role="status">
          {problem}
        </p>
      )}
      {delivery?.cancelled_because && <p class="callout">{CANCELLED[delivery.cancelled_because]}</p>}
      {attempt?.diagnosis && <Diagnosis attempt={attempt} text={attempt.diagnosis} />}
      {delivery && <Attempts delivery={delivery} chosen={attempt?.number} choose={choose} />}
      {delivery && attempt && (
        <AttemptTabs attempt={attempt} delivery={delivery} sandbox={sandbox} settings={settings} />
      )}
    </section>
  );
});

interface LoadedDelivery {
  readonly delivery?: Delivery;
  /** Why the last request failed. */
  readonly problem?: string;
}

/** The delivery with its attempts, loaded again whenever its row changes. */
function useDelivery(id: string, row: Row | undefined): LoadedDelivery {
  const [loaded, setLoaded] = useState<LoadedDelivery>({});
  // The effect does not read the row: when the row changes, so does the delivery.
  useEffect(() => {
    let wanted = true;
    api.delivery(id).then(
      (delivery) => wanted && setLoaded({ delivery }),
      (error: unknown) =>
        wanted && setLoaded(({ delivery }) => ({ ...(delivery && { delivery }), problem: explain(error) })),
    );
    return () => {
      wanted = false;
    };
  }, [id, row]);
  return loaded;
}

function explain(error: unknown): string {
  if (error instanceof ApiError && error.status === 404) {
    return 'The simulator no longer keeps this delivery. The history was cleared, or newer ones took its place.';
  }
  return error instanceof Error ? error.message : String(error);
}

/** The verdict in bold, and the next step. */
function Diagnosis({ attempt, text }: { attempt: Attempt; text: string }) {
  const end = text.search(/[.!?] /) + 1;
  const verdict = end > 0 ? text.slice(0, end) : text;
  // A successful attempt has a diagnosis when it should have failed.
  const tone = attempt.succeeded ? 'fault' : 'failed';
  return (
    <div class={`callout tone-${tone}`}>
      <Icon name={tone} />
      <p>
        <span class="visually-hidden">Diagnosis of attempt {attempt.number}: </span>
        <strong>{verdict}</strong>
        {text.slice(verdict.length)}
      </p>
    </div>
  );
}
