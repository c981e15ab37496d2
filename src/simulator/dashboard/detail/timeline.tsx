// The attempts of a delivery, first to last, and the one that is waiting.
import type { Attempt, Delivery } from '../live/wire.js';
import { formatDuration, formatTimeExactly } from '../parts/format.js';
import { Icon } from '../parts/icon.js';
import { RetryCountdown } from '../parts/retry-countdown.js';

interface TimelineProps {
  readonly delivery: Delivery;
  readonly chosen: number | undefined;
  readonly choose: (number: number) => void;
}

export function Timeline({ delivery, chosen, choose }: TimelineProps) {
  const { attempts, next_attempt_at: next, status } = delivery;
  return (
    <section class="timeline-part" aria-labelledby="attempts-title">
      <h3 id="attempts-title">Attempts</h3>
      <ol class="timeline">
        {attempts.map((attempt) => (
          <li key={attempt.number}>
            <button
              type="button"
              class="timeline-entry"
              aria-current={attempt.number === chosen ? 'step' : undefined}
              onClick={() => choose(attempt.number)}
            >
              <AttemptLine attempt={attempt} />
            </button>
          </li>
        ))}
        {status === 'in_flight' && (
          <li class="timeline-entry tone-in_flight">
            <Icon name="in_flight" /> An attempt is under way.
          </li>
        )}
        {next && (
          <li class="timeline-entry tone-retrying">
            <Icon name="pending" />
            <RetryCountdown at={next} />
          </li>
        )}
      </ol>
    </section>
  );
}

function AttemptLine({ attempt }: { attempt: Attempt }) {
  const { succeeded, number, response, error, fault, trigger } = attempt;
  const tone = succeeded ? 'delivered' : 'failed';
  return (
    <>
      <span class={`tone-${tone}`}>
        <Icon name={tone} />
      </span>
      <span class="timeline-number">
        <span class="visually-hidden">{succeeded ? 'Succeeded: attempt ' : 'Failed: attempt '}</span>
        {number}
      </span>
      <span class="mono strong">{response?.status ?? error?.code ?? '–'}</span>
      <span class="number muted">{formatDuration(attempt.duration_ms)}</span>
      <span class="timeline-tags">
        {trigger === 'manual' && <span class="tag">by hand</span>}
        {fault && (
          <span class="tag tag-fault">
            <Icon name="fault" />
            {fault}
          </span>
        )}
      </span>
      <time class="number muted" dateTime={attempt.started_at}>
        {formatTimeExactly(attempt.started_at)}
      </time>
    </>
  );
}
