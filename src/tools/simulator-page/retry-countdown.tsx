// The time until the next retry, on the clock of the simulator; only this text is rendered every second.
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { formatPause } from '../pages/components/format.js';
import type { State } from './state.js';

interface Clock {
  /** A manual clock moves only when a program advances it. */
  readonly manual: boolean;
  readonly now: () => number;
}

const ClockContext = createContext<Clock>({ manual: false, now: Date.now });

interface ClockProviderProps extends Pick<State, 'settings' | 'skew'> {
  readonly children: ComponentChildren;
}

/** Every second a new clock: its children stay the same, so only what reads it is rendered again. */
export function ClockProvider({ settings, skew, children }: ClockProviderProps) {
  const manual = settings?.clock === 'manual';
  const [, tick] = useState(0);
  useEffect(() => {
    if (manual) return;
    const timer = setInterval(() => tick((seconds) => seconds + 1), 1_000);
    return () => clearInterval(timer);
  }, [manual]);
  const now = () => (manual ? Date.parse(settings.now) : Date.now() + skew);
  return <ClockContext.Provider value={{ manual, now }}>{children}</ClockContext.Provider>;
}

/** @param brief in one unit only, where there is little room */
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
          next retry in <b>{formatPause(left, brief ? 1 : 2)}</b>
        </>
      )}
    </span>
  );
}
