// Everything about one delivery: why it failed, every attempt, what was sent and what came back.
import { useState } from 'preact/hooks';
import { DETAIL_TITLE } from '../deliveries/focus.js';
import type { Row, Settings } from '../live/wire.js';
import { pure } from '../parts/pure.js';
import { AttemptView } from './attempt-view.js';
import { DetailHead } from './detail-head.js';
import { Diagnosis } from './diagnosis.js';
import { Timeline } from './timeline.js';
import { useDelivery } from './use-delivery.js';

interface DetailProps {
  readonly id: string;
  /** The row of the list, as long as it is in it. */
  readonly row: Row | undefined;
  readonly settings: Settings | undefined;
  readonly close: () => void;
}

const CANCELLED = {
  webhook_deleted: 'Cancelled: its webhook was deleted.',
  webhook_paused: 'Cancelled: its webhook is paused.',
  request: 'Cancelled by hand.',
} as const;

export const Detail = pure(({ id, row, settings, close }: DetailProps) => {
  const { delivery, problem } = useDelivery(id, row);
  // Nobody chose: the latest, also when another one comes.
  const [chosen, choose] = useState<number>();
  const attempts = delivery?.attempts ?? [];
  const attempt = attempts.find(({ number }) => number === chosen) ?? attempts.at(-1);
  const sandbox = row?.sandbox ?? false;
  return (
    <section class="detail" aria-labelledby={DETAIL_TITLE}>
      <DetailHead id={id} shown={row ?? delivery} sandbox={sandbox} attempt={attempt?.number} close={close} />
      {problem && (
        <p class="callout" role="status">
          {problem}
        </p>
      )}
      {delivery?.cancelled_because && <p class="callout">{CANCELLED[delivery.cancelled_because]}</p>}
      {attempt?.diagnosis && <Diagnosis attempt={attempt} text={attempt.diagnosis} />}
      {delivery && <Timeline delivery={delivery} chosen={attempt?.number} choose={choose} />}
      {delivery && attempt && (
        <AttemptView attempt={attempt} delivery={delivery} sandbox={sandbox} settings={settings} />
      )}
    </section>
  );
});
