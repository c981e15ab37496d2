// The clock of a page: ages and countdowns.
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { formatPause, formatTimeExactly } from './format.js';

interface Clock {
  /** A manual clock moves only when a test advances it. */
  readonly manual: boolean;
  readonly now: () => number;
}

const ClockContext = createContext<Clock>({ manual: false, now: Date.now });

interface ClockProviderProps {
  /** The time of a manual clock. */
  readonly manual?: string | undefined;
  /** How far the server's clock is ahead of the browser's, in milliseconds. */
  readonly skew?: number;
  readonly children: ComponentChildren;
}

/** Ticks every second. The children do not change, so only components that read the clock render again. */
export function ClockProvider({ manual, skew = 0, children }: ClockProviderProps) {
  const [, tick] = useState(0);
  useEffect(() => {
    if (manual !== undefined) return;
    const timer = setInterval(() => tick((seconds) => seconds + 1), 1_000);
    return () => clearInterval(timer);
  }, [manual === undefined]);
  const now = () => (manual === undefined ? Date.now() + skew : Date.parse(manual));
  return (
    <ClockContext.Provider value={{ manual: manual !== undefined, now }}>{children}</ClockContext.Provider>
  );
}

/** `3 h ago`, with the time as tooltip. */
export function Age({ at }: { at: string }) {
  const ms = Math.max(0, useContext(ClockContext).now() - Date.parse(at));
  return (
    <time dateTime={at} title={formatTimeExactly(at)}>
      {ms < 60_000 ? 'just now' : `${formatPause(ms, 1)} ago`}
    </time>
  );
}

/** @param brief one unit only */
export function RetryCountdown({ at, brief = false }: { at: string; brief?: boolean }) {
  const { manual, now } = useContext(ClockContext);
  const left = Math.max(0, Date.parse(at) - now());
  const title = manual ? 'The clock is manual. It moves when your program calls advance().' : undefined;
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
