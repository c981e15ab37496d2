// A text that counts down to the next retry on the clock of the simulator.
import { useContext } from 'preact/hooks';
import { ClockContext, useTimeUntil } from './clock.js';
import { formatPause } from './format.js';

/** @param brief in one unit only, where there is little room */
export function RetryCountdown({ at, brief = false }: { at: string; brief?: boolean }) {
  const { manual } = useContext(ClockContext);
  const left = useTimeUntil(at);
  if (left === 0) return <span class="countdown">retry due now</span>;
  return (
    <span
      class="countdown"
      title={manual ? 'The clock stands still until the program advances it.' : undefined}
    >
      next retry in <b>{formatPause(left, brief ? 1 : 2)}</b>
    </span>
  );
}
