// The clock of a page: ages and countdowns.
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { formatPause, formatTime, formatTimeExactly } from './format.js';

const ClockContext = createContext({ isManual: false, now: Date.now });

interface ClockProviderProps {
  /** The time of a clock that moves only when a test advances it. */
  readonly manual?: string | undefined;
  /** How far the server's clock is ahead of the browser's, in milliseconds. */
  readonly skew?: number;
  readonly children: ComponentChildren;
}

/** Ticks every second. The children do not change, so only components that read the clock render again. */
export function ClockProvider({ manual, skew = 0, children }: ClockProviderProps) {
  const isManual = manual !== undefined;
  const [, tick] = useState(0);
  useEffect(() => {
    if (isManual) return;
    const timer = setInterval(() => tick((seconds) => seconds + 1), 1_000);
    return () => clearInterval(timer);
  }, [isManual]);
  const now = () => (isManual ? Date.parse(manual) : Date.now() + skew);
  return <ClockContext.Provider value={{ isManual, now }}>{children}</ClockContext.Provider>;
}

/** `3 h ago`, with the time as tooltip; without a pointer, that would show it, the time itself. */
export function Age({ at }: { at: string }) {
  const ms = Math.max(0, useContext(ClockContext).now() - Date.parse(at));
  return (
    <time dateTime={at} title={formatTimeExactly(at)}>
      <span class="ago">{ms < 60_000 ? 'just now' : `${formatPause(ms, 1)} ago`}</span>
      <span class="exact">{formatTime(at)}</span>
    </time>
  );
}

/** @param brief one unit only */
export function RetryCountdown({ at, brief = false }: { at: string; brief?: boolean }) {
  const { isManual, now } = useContext(ClockContext);
  const left = Math.max(0, Date.parse(at) - now());
  const title = isManual ? 'The clock is manual. It moves when your program calls advance().' : undefined;
  return (
    <span class="countdown" title={title}>
      {left === 0 ? (
        'retry due now'
      ) : (
        <>
          <span>next retry </span>in <b>{formatPause(left, brief ? 1 : 2)}</b>
        </>
      )}
    </span>
  );
}
