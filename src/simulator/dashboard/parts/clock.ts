// The simulator's clock in the page: a text that counts down is drawn again once a second, and nothing else is.
import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';

export interface Clock {
  /** A manual clock stands still until a program advances it. */
  readonly manual: boolean;
  /** The time of a manual clock. */
  readonly now: number;
  /** How far a real one is ahead of this browser's. */
  readonly skew: number;
}

export const ClockContext = createContext<Clock>({ manual: false, now: 0, skew: 0 });

const counting = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** Milliseconds until the time; it never is negative. */
export function useTimeUntil(iso: string): number {
  const clock = useContext(ClockContext);
  const [, draw] = useState(0);
  useEffect(() => {
    if (clock.manual) return;
    const count = () => draw((times) => times + 1);
    counting.add(count);
    timer ??= setInterval(() => counting.forEach((each) => void each()), 1_000);
    return () => {
      counting.delete(count);
      if (counting.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, [clock.manual]);
  const now = clock.manual ? clock.now : Date.now() + clock.skew;
  return Math.max(0, Date.parse(iso) - now);
}
