// How long ago something was; only this text is rendered again as time passes.
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { formatPause, formatTimeExactly } from '../../pages/components/format.js';

const TICK_MS = 20_000;

const NowContext = createContext(0);

export function NowProvider({ children }: { children: ComponentChildren }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return <NowContext.Provider value={now}>{children}</NowContext.Provider>;
}

/** `3 h ago`; the time itself is its title. */
export function Age({ at }: { at: string }) {
  const ms = Math.max(0, useContext(NowContext) - Date.parse(at));
  return (
    <time dateTime={at} title={formatTimeExactly(at)}>
      {ms < 60_000 ? 'just now' : `${formatPause(ms, 1)} ago`}
    </time>
  );
}
