// Two small charts: the attempts of a delivery on a time axis, and the response times of an endpoint.
import { formatDuration, formatPause } from '../pages/components/format.js';
import type { Delivery } from './api.js';
import { attemptStatus } from './shown-status.js';
import { useSimulator } from './state.js';

/** A shorter segment has no room for a label. In percent of the width. */
const LEAST_LABELLED = 9;

/** The pauses grow from seconds to hours, so the axis is logarithmic. */
export function AttemptAxis({ delivery: { attempts, next_attempt_at: next } }: { delivery: Delivery }) {
  const times = attempts.map(({ started_at: at }) => Date.parse(at));
  if (next) times.push(Date.parse(next));
  if (times.length < 2) return null;
  const gaps = times.slice(1).map((time, index) => Math.max(0, time - (times[index] ?? time)));
  const widths = gaps.map((gap) => 1 + Math.log1p(gap / 1_000));
  const whole = widths.reduce((sum, width) => sum + width);
  let at = 3;
  const places = [at, ...widths.map((width) => (at += (width / whole) * 94))];
  // Rounded to the nearest second; formatPause rounds up.
  const text = gaps.map((gap) => (gap < 1_000 ? formatDuration(gap) : formatPause(gap - 500, 1)));
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

const SHOWN = 40;

/** The latest deliveries to the webhook, newest on the right. */
export function Durations({ webhook }: { webhook: string }) {
  const { rows } = useSimulator();
  const latest = rows
    .flatMap(({ webhook_id, last }) => (webhook_id === webhook && last ? [last.duration_ms] : []))
    .slice(0, SHOWN)
    .reverse();
  if (latest.length < 2) return null;
  const most = Math.max(...latest);
  const point = (ms: number, index: number) =>
    `${((index / (latest.length - 1)) * 98 + 1).toFixed(1)},${(19 - (ms / (most || 1)) * 18).toFixed(1)}`;
  const median = latest.toSorted((one, other) => one - other)[Math.floor(latest.length / 2)] ?? 0;
  const text = `The latest ${latest.length} took ${formatDuration(median)} at the median, ${formatDuration(most)} at most`;
  return (
    <p class="spread note" title={text}>
      <svg class="durations" viewBox="0 0 100 20" preserveAspectRatio="none" role="img" aria-label={text}>
        <polyline points={latest.map(point).join(' ')} />
      </svg>
      {formatDuration(median)}
    </p>
  );
}
