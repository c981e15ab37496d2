// The status of a delivery, of the response to an attempt, and the time until the next retry.

import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { formatPause } from '../pages/components/format.js';
import { Icon } from '../pages/components/icon.js';
import type { DeliveryStatus } from './api.js';
import type { State } from './state.js';

export const STATUS_LABELS: Readonly<Record<DeliveryStatus, string>> = {
  pending: 'Pending',
  in_flight: 'In flight',
  retrying: 'Retrying',
  delivered: 'Delivered',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

/** A shape and a word; the colour only repeats them. */
export function Status({ status }: { status: DeliveryStatus }) {
  return (
    <span class={`status cluster tone-${status}`}>
      <Icon name={status} />
      {STATUS_LABELS[status]}
    </span>
  );
}

interface ResponseStatusProps {
  readonly status: number | null | undefined;
  readonly error: string | null | undefined;
  /** The outcome that the endpoint names, such as `ignored`. */
  readonly outcome: string | null | undefined;
}

export function ResponseStatus({ status, error, outcome }: ResponseStatusProps) {
  return (
    <span>
      <span class="mono">{status ?? error ?? '–'}</span>
      {outcome && <span class="note"> {outcome}</span>}
    </span>
  );
}

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
