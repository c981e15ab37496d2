// One delivery: its status, what can be done with it, why it failed, and its attempts.
import { useState } from 'preact/hooks';
import { ApiError, messageOf } from '../../web/components/api-client.js';
import { Button } from '../../web/components/button.js';
import { RetryCountdown } from '../../web/components/clock.js';
import { DetailFrame, Diagnosis, useLoaded } from '../../web/components/columns.js';
import { CopyButton, CopyLine } from '../../web/components/copy-button.js';
import { DialogButton } from '../../web/components/dialog.js';
import { focus, onPlainClick } from '../../web/components/focus.js';
import { formatDuration, formatPause, formatTimeExactly } from '../../web/components/format.js';
import { Icon } from '../../web/components/icon.js';
import { loadSetting, saveSetting } from '../../web/components/settings.js';
import { compareBodies } from '../delivery/compare-bodies.js';
import { unprocessed } from '../delivery/delivery-status.js';
import { type Attempt, api, type Delivery, type Row } from './api.js';
import { AttemptTabs } from './attempt-tabs.js';
import { Compare, choicesFor } from './compare.js';
import { ResponseStatus, Status } from './delivery-columns.js';
import { formatRoute } from './route.js';
import { useSimulator } from './simulator.js';
import { attemptStatus, FRAMEWORK_NAMES, STATUS_LABELS, shownStatus, testCode } from './texts.js';
import { EditAndResend } from './trigger.js';

const CANCELLED = {
  webhook_deleted: 'Cancelled: the webhook was deleted.',
  webhook_paused: 'Cancelled: the webhook was paused.',
  request: 'Cancelled manually.',
} as const;

/** @param row undefined when the list does not have it */
export function Detail({ id, row, close }: { id: string; row: Row | undefined; close: () => void }) {
  const { route, connection, settings } = useSimulator();
  const capture = settings?.capture;
  // Reloads when the row changes, and after a reconnect.
  const { data: delivery, error } = useLoaded(() => api.delivery(id), [id, row, connection]);
  const attempts = delivery?.attempts ?? [];
  const attempt = attempts.find(({ number }) => number === route.attempt) ?? attempts.at(-1);
  const known = row ?? delivery;
  const outcome = attempts.at(-1)?.outcome;
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
              {outcome && !unprocessed(outcome) && <span class="muted">{outcome}</span>}
              {sandbox && <span class="tag">sandbox</span>}
              <span class="mono muted wrap">{known.url}</span>
            </p>
            <CopyLine label="Event" name="event ID" text={known.event_id} />
            <div class="cluster">
              {known.next_attempt_at !== null && (
                <Button look="primary" text="Retry now" act={() => endWait(id, api.retryNow)} />
              )}
              {capture?.forward !== null && (
                <Button text={capture ? 'Resend to my app' : 'Resend'} act={() => api.resend(id)} />
              )}
              {delivery && attempt && !capture && (
                <DialogButton keep title={`Edit and resend ${delivery.event_name}`} text="Edit and resend">
                  <EditAndResend delivery={delivery} body={attempt.request.body} />
                </DialogButton>
              )}
            </div>
            {delivery && attempt && (
              <div class="cluster copies">
                <CopyButton
                  look="quiet small"
                  label="Copy as curl"
                  text={() => api.curl(id, attempt.number)}
                />
                <CopyTest delivery={delivery} attempt={attempt} />
                <CopyButton look="quiet small" label="Copy link" text={location.href} />
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
      {delivery && attempt && capture && <Found {...{ delivery, attempt }} />}
      {delivery && <Attempts delivery={delivery} chosen={attempt} />}
      {delivery && attempt && <AttemptTabs {...{ attempt, delivery, sandbox }} />}
    </DetailFrame>
  );
}

function CopyTest({ delivery, attempt }: { delivery: Delivery; attempt: Attempt }) {
  const saved = loadSetting('test');
  const [framework, choose] = useState(FRAMEWORK_NAMES.find((name) => name === saved) ?? 'Jest');
  const change = (name: string) => {
    saveSetting('test', name);
    choose(FRAMEWORK_NAMES.find((one) => one === name) ?? 'Jest');
  };
  return (
    <>
      <CopyButton
        look="quiet small"
        label="Copy as test"
        name={`Copy as test for ${framework}`}
        text={testCode(framework, delivery, attempt)}
      />
      <select
        aria-label="Test framework"
        value={framework}
        onChange={(event) => change(event.currentTarget.value)}
      >
        {FRAMEWORK_NAMES.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </>
  );
}

function Found({ delivery: { id }, attempt: { number } }: { delivery: Delivery; attempt: Attempt }) {
  const { data } = useLoaded(() => api.signature(id, number), [id, number]);
  if (!data?.finding) return null;
  const { header, form, message } = data.finding;
  const tone = header === null ? 'failed' : form === null ? 'delivered' : 'wrongly_accepted';
  return <Diagnosis tone={tone} icon={tone} label={`Signature of attempt ${number}`} text={message} />;
}

function explain(error: unknown): string {
  if (error instanceof ApiError && error.status === 404)
    return 'The simulator no longer has this delivery. The history was cleared, or newer deliveries replaced it.';
  return messageOf(error);
}

/** The button disappears with the scheduled attempt, so the focus moves to the heading, which has the new status. */
function endWait(id: string, action: (id: string) => Promise<unknown>): Promise<unknown> {
  focus('#detail-title');
  return action(id);
}

function Attempts({ delivery, chosen }: { delivery: Delivery; chosen: Attempt | undefined }) {
  const { route, navigate, rows, settings } = useSimulator();
  const side = chosen && { delivery, attempt: chosen };
  const { attempts, next_attempt_at: next, status } = delivery;
  return (
    <section class="attempts" aria-labelledby="attempts-title">
      <div class="spread">
        <h3 id="attempts-title">Attempts</h3>
        {side && choicesFor(side, rows).length > 0 && (
          <DialogButton title={`Compare ${delivery.event_name}`} text="Compare" look="small">
            <Compare {...side} />
          </DialogButton>
        )}
      </div>
      <AttemptAxis delivery={delivery} />
      {settings?.capture && <Schedule received={attempts.filter(({ trigger }) => trigger === 'automatic')} />}
      <ol>
        {attempts.map((attempt) => {
          const { number, response, error, outcome, fault } = attempt;
          const tone = attemptStatus(attempt);
          return (
            <li key={number}>
              <a
                class="attempt choice cluster"
                aria-current={number === chosen?.number ? 'step' : undefined}
                href={formatRoute({ ...route, attempt: number })}
                onClick={onPlainClick(() => navigate({ attempt: number }))}
              >
                <Icon name={tone} tone={tone} />
                <b>
                  <span class="visually-hidden">{STATUS_LABELS[tone]}: attempt </span>
                  {number}
                </b>
                <b>
                  <ResponseStatus status={response?.status} error={error?.code} outcome={outcome} />
                </b>
                <span class="muted">{formatDuration(attempt.duration_ms)}</span>
                <span class="cluster">
                  {attempt.trigger === 'manual' && <span class="tag">manual</span>}
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
              </a>
            </li>
          );
        })}
        {status === 'in_flight' && (
          <li class="attempt choice cluster tone-in_flight">
            <Icon name="in_flight" /> Attempt in progress.
          </li>
        )}
        {next && (
          <li class="attempt choice cluster tone-retrying">
            <Icon name="pending" />
            <RetryCountdown at={next} />
            <Button look="small" text="Cancel retries" act={() => endWait(delivery.id, api.cancel)} />
          </li>
        )}
      </ol>
    </section>
  );
}

function gapsOf(times: readonly number[]): number[] {
  return times.slice(1).map((time, index) => Math.max(0, time - (times[index] ?? time)));
}

/** Rounded to the nearest second; formatPause rounds up. */
function pauseText(gap: number): string {
  return gap < 1_000 ? formatDuration(gap) : formatPause(gap - 500, 1);
}

/** The retry schedule of the real service, as far as it was seen. */
function Schedule({ received }: { received: readonly Attempt[] }) {
  const [first, last] = [received[0], received.at(-1)];
  if (!first || !last || first === last) return null;
  const pauses = gapsOf(received.map(({ started_at: at }) => Date.parse(at))).map(pauseText);
  const same = compareBodies(first.request.body, last.request.body);
  return (
    <p class="note wrap">
      The service sent it again after {pauses.join(', ')}. The first and the last: {same}.
    </p>
  );
}

/** A shorter segment has no room for a label. In percent of the width. */
const LEAST_LABELLED = 9;

/** The pauses grow from seconds to hours, so the axis is logarithmic. */
function AttemptAxis({ delivery: { attempts, next_attempt_at: next } }: { delivery: Delivery }) {
  const times = attempts.map(({ started_at: at }) => Date.parse(at));
  if (next) times.push(Date.parse(next));
  if (times.length < 2) return null;
  const gaps = gapsOf(times);
  const widths = gaps.map((gap) => 1 + Math.log1p(gap / 1_000));
  const whole = widths.reduce((sum, width) => sum + width);
  let at = 3;
  const places = [at, ...widths.map((width) => (at += (width / whole) * 94))];
  const text = gaps.map(pauseText);
  return (
    <svg class="axis" role="img" aria-label={`Pauses between the attempts: ${text.join(', ')}`}>
      <line x1="3%" x2="97%" y1="26" y2="26" />
      {text.map((gap, index) => {
        const [from = 0, to = 0] = places.slice(index);
        return (
          to - from >= LEAST_LABELLED && (
            <text key={index} x={`${(from + to) / 2}%`} y="16">
              {gap}
            </text>
          )
        );
      })}
      {places.map((place, index) => {
        const attempt = attempts[index];
        const tone = attempt ? attemptStatus(attempt) : 'pending';
        return <circle key={index} class={`tone-${tone}`} cx={`${place}%`} cy="26" r="5" />;
      })}
    </svg>
  );
}
