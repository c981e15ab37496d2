// One delivery: its status, what can be done with it, why it failed, and its attempts.
import { ApiError, messageOf } from '../pages/components/api-client.js';
import { Button } from '../pages/components/button.js';
import { RetryCountdown } from '../pages/components/clock.js';
import { DetailFrame, Diagnosis, useLoaded } from '../pages/components/columns.js';
import { CopyButton, CopyLine } from '../pages/components/copy-button.js';
import { DialogButton } from '../pages/components/dialog.js';
import { focus, onPlainClick } from '../pages/components/focus.js';
import { formatDuration, formatTimeExactly } from '../pages/components/format.js';
import { Icon } from '../pages/components/icon.js';
import { type Attempt, api, type Delivery, type Row } from './api.js';
import { AttemptTabs } from './attempt-tabs.js';
import { AttemptAxis } from './charts.js';
import { jestTest } from './jest-test.js';
import { formatRoute } from './route.js';
import { attemptStatus, STATUS_LABELS, shownStatus } from './shown-status.js';
import { useSimulator } from './state.js';
import { ResponseStatus, Status } from './status.js';
import { EditAndResend } from './trigger.js';

const CANCELLED = {
  webhook_deleted: 'Cancelled: the webhook was deleted.',
  webhook_paused: 'Cancelled: the webhook was paused.',
  request: 'Cancelled manually.',
} as const;

/** @param row undefined when the list does not have it */
export function Detail({ id, row, close }: { id: string; row: Row | undefined; close: () => void }) {
  const { route, connection } = useSimulator();
  // Reloads when the row changes, and after a reconnect.
  const { data: delivery, error } = useLoaded(() => api.delivery(id), [id, row, connection]);
  const attempts = delivery?.attempts ?? [];
  const attempt = attempts.find(({ number }) => number === route.attempt) ?? attempts.at(-1);
  const known = row ?? delivery;
  const sandbox = row?.sandbox ?? false;
  return (
    <DetailFrame
      title={
        <>
          {known?.event_name ?? 'Delivery'}
          {known && <span class="visually-hidden">, {STATUS_LABELS[shownStatus(known)]}</span>}
        </>
      }
      closeLabel="Close delivery"
      close={close}
      problem={error === undefined ? undefined : explain(error)}
      head={
        known && (
          <>
            <p class="cluster">
              <Status status={shownStatus(known)} />
              {attempts.at(-1)?.outcome && <span class="muted">{attempts.at(-1)?.outcome}</span>}
              {sandbox && <span class="tag">sandbox</span>}
              <span class="mono muted wrap">{known.url}</span>
            </p>
            <CopyLine label="Event" name="event ID" text={known.event_id} />
            <div class="cluster">
              {known.next_attempt_at !== null && (
                <Button look="primary" act={() => endWait(id, api.retryNow)}>
                  Retry now
                </Button>
              )}
              <Button act={() => api.resend(id)}>Resend</Button>
              {delivery && attempt && (
                <DialogButton keep title={`Edit and resend ${delivery.event_name}`} text="Edit and resend">
                  <EditAndResend delivery={delivery} body={attempt.request.body} />
                </DialogButton>
              )}
            </div>
            {delivery && attempt && (
              <div class="cluster copies">
                <CopyButton look={SMALL} label="Copy as curl" text={() => api.curl(id, attempt.number)} />
                <CopyButton look={SMALL} label="Copy as Jest test" text={jestTest(delivery, attempt)} />
                <CopyButton look={SMALL} label="Copy link" text={location.href} />
              </div>
            )}
          </>
        )
      }
    >
      {delivery?.cancelled_because && <p class="callout">{CANCELLED[delivery.cancelled_because]}</p>}
      {attempt?.diagnosis && (
        <Diagnosis
          tone="failed"
          icon={attempt.succeeded ? 'wrongly_accepted' : 'failed'}
          label={`Diagnosis of attempt ${attempt.number}`}
          text={attempt.diagnosis}
        />
      )}
      {delivery && <Attempts delivery={delivery} chosen={attempt?.number} />}
      {delivery && attempt && <AttemptTabs {...{ attempt, delivery, sandbox }} />}
    </DetailFrame>
  );
}

const SMALL = 'quiet small';

function explain(error: unknown): string {
  if (error instanceof ApiError && error.status === 404) {
    return 'The simulator no longer has this delivery. The history was cleared, or newer deliveries replaced it.';
  }
  return messageOf(error);
}

/** The button disappears with the scheduled attempt, so the focus moves to the heading, which has the new status. */
function endWait(id: string, action: (id: string) => Promise<unknown>): Promise<unknown> {
  focus('#detail-title');
  return action(id);
}

function Attempts({ delivery, chosen }: { delivery: Delivery; chosen: number | undefined }) {
  const { route, navigate } = useSimulator();
  const { attempts, next_attempt_at: next, status } = delivery;
  return (
    <section class="attempts" aria-labelledby="attempts-title">
      <h3 id="attempts-title">Attempts</h3>
      <AttemptAxis delivery={delivery} />
      <ol>
        {attempts.map((attempt) => (
          <li key={attempt.number}>
            <a
              class="attempt choice cluster"
              aria-current={attempt.number === chosen ? 'step' : undefined}
              href={formatRoute({ ...route, attempt: attempt.number })}
              onClick={onPlainClick(() => navigate({ attempt: attempt.number }))}
            >
              <AttemptLine attempt={attempt} />
            </a>
          </li>
        ))}
        {status === 'in_flight' && (
          <li class="attempt choice cluster tone-in_flight">
            <Icon name="in_flight" /> Attempt in progress.
          </li>
        )}
        {next && (
          <li class="attempt choice cluster tone-retrying">
            <Icon name="pending" />
            <RetryCountdown at={next} />
            <Button look="small" act={() => endWait(delivery.id, api.cancel)}>
              Cancel retries
            </Button>
          </li>
        )}
      </ol>
    </section>
  );
}

function AttemptLine({ attempt }: { attempt: Attempt }) {
  const { succeeded, number, response, error, outcome, fault, trigger } = attempt;
  const status = attemptStatus(attempt);
  return (
    <>
      <Icon name={status} tone={status} />
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
