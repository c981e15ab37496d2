// The time until the next retry, on the clock of the simulator; only this text is rendered every second.
import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { formatPause } from './format.js';

export interface Clock {
  /** A manual clock moves only when a program advances it. */
  readonly manual: boolean;
  /** The time of a manual clock, in milliseconds. */
  readonly now: number;
  /** How far a real clock is ahead of this browser's, in milliseconds. */
  readonly skew: number;
}

export const ClockContext = createContext<Clock>({ manual: false, now: 0, skew: 0 });

/** @param brief in one unit only, where there is little room */
export function RetryCountdown({ at, brief = false }: { at: string; brief?: boolean }) {
  const clock = useContext(ClockContext);
  useEverySecond(!clock.manual);
  const now = clock.manual ? clock.now : Date.now() + clock.skew;
  const left = Math.max(0, Date.parse(at) - now);
  if (left === 0) return <span class="countdown">retry due now</span>;
  return (
    <span
      class="countdown"
      title={clock.manual ? 'The clock is manual. It moves when your program calls advance().' : undefined}
    >
      next retry in <b>{formatPause(left, brief ? 1 : 2)}</b>
    </span>
  );
}

const ticking = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** Renders the component every second. All share one timer, so that they tick together. */
function useEverySecond(running: boolean): void {
  const [, render] = useState(0);
  useEffect(() => {
    if (!running) return;
    const tick = () => render((count) => count + 1);
    ticking.add(tick);
    timer ??= setInterval(() => ticking.forEach((each) => void each()), 1_000);
    return () => {
      ticking.delete(tick);
      if (ticking.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, [running]);
}
