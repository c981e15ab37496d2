// One delivery: its status, what can be done with it, why it failed, and its attempts.
import { memo } from 'preact/compat';
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../pages/components/api-client.js';
import { Button, CloseButton } from '../pages/components/button.js';
import { CopyButton, CopyLine } from '../pages/components/copy-button.js';
import { focus } from '../pages/components/focus.js';
import { formatDuration, formatTimeExactly } from '../pages/components/format.js';
import { Icon } from '../pages/components/icon.js';
import { type Attempt, api, type Delivery, type Row, type Settings } from './api.js';
import { AttemptTabs } from './attempt-tabs.js';
import { ResponseStatus, RetryCountdown, STATUS_LABELS, Status } from './status.js';

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

function DetailHeader({ id, delivery, sandbox, outcome, attempt, close }: DetailHeaderProps) {
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
          <CopyLine label="Event" name="event ID" text={delivery.event_id} />
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

interface AttemptsProps {
  readonly delivery: Delivery;
  readonly chosen: number | undefined;
  readonly choose: (number: number) => void;
}

function Attempts({ delivery, chosen, choose }: AttemptsProps) {
  const { attempts, next_attempt_at: next, status } = delivery;
  return (
    <section class="attempts" aria-labelledby="attempts-title">
      <h3 id="attempts-title">Attempts</h3>
      <ol>
        {attempts.map((attempt) => (
          <li key={attempt.number}>
            <button
              type="button"
              class="attempt cluster"
              aria-current={attempt.number === chosen ? 'step' : undefined}
              onClick={() => choose(attempt.number)}
            >
              <AttemptLine attempt={attempt} />
            </button>
          </li>
        ))}
        {status === 'in_flight' && (
          <li class="attempt cluster tone-in_flight">
            <Icon name="in_flight" /> Attempt in progress.
          </li>
        )}
        {next && (
          <li class="attempt cluster tone-retrying">
            <Icon name="pending" />
            <RetryCountdown at={next} />
          </li>
        )}
      </ol>
    </section>
  );
}

function AttemptLine({ attempt }: { attempt: Attempt }) {
  const { succeeded, number, response, error, outcome, fault, trigger } = attempt;
  const tone = succeeded ? 'delivered' : 'failed';
  return (
    <>
      <span class={`tone-${tone}`}>
        <Icon name={tone} />
      </span>
      <b>
        <span class="visually-hidden">{succeeded ? 'Succeeded: attempt ' : 'Failed: attempt '}</span>
        {number}
      </b>
      <b>
        <ResponseStatus status={response?.status} error={error?.code} outcome={outcome} />
      </b>
      <span class="muted">{formatDuration(attempt.duration_ms)}</span>
      <span class="cluster">
        {trigger === 'manual' && <span class="tag">manual</span>}
        {fault && (
          <span class="tag tone-fault">
            <Icon name="fault" />
            {fault}
          </span>
        )}
      </span>
      <time class="muted" dateTime={attempt.started_at}>
        {formatTimeExactly(attempt.started_at)}
      </time>
    </>
  );
}
