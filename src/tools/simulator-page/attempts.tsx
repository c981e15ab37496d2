// The attempts of a delivery, first to last, and the one that is scheduled.

import { formatDuration, formatTimeExactly } from '../pages/components/format.js';
import { Icon } from '../pages/components/icon.js';
import type { Attempt, Delivery } from './api.js';
import { RetryCountdown } from './retry-countdown.js';
import { ResponseStatus } from './status.js';

interface AttemptsProps {
  readonly delivery: Delivery;
  readonly chosen: number | undefined;
  readonly choose: (number: number) => void;
}

export function Attempts({ delivery, chosen, choose }: AttemptsProps) {
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
