// The page: it listens to the simulator, and lays out what it hears.
import { useCallback, useEffect, useMemo, useReducer, useState } from 'preact/hooks';
import { Columns } from './columns.js';
import { AboutDialog } from './dialogs/about-dialog.js';
import { ShortcutsDialog } from './dialogs/shortcuts-dialog.js';
import { Header } from './header.js';
import { Announcer } from './live/announcer.js';
import { reduce, START, type State } from './live/state.js';
import { listen } from './live/stream.js';
import { ClockContext } from './parts/clock.js';
import { NoticeContext } from './parts/notice.js';
import { NoticeBar } from './parts/notice-bar.js';
import { useShortcuts } from './parts/shortcuts.js';

export function Page() {
  const [state, dispatch] = useReducer(reduce, START);
  const [dialog, show] = useState<'about' | 'shortcuts'>();
  const [notice, setNotice] = useState<string>();
  useEffect(() => listen(dispatch), []);
  useShortcuts({ '?': () => show('shortcuts') });
  const hide = useCallback(() => show(undefined), []);
  const { settings, rows, loaded, link } = state;
  return (
    <ClockContext.Provider value={useClock(state)}>
      <NoticeContext.Provider value={setNotice}>
        <a class="skip-link button" href="#main">
          Skip to the deliveries
        </a>
        <Header link={link} stateError={settings?.state_error ?? null} show={show} />
        <NoticeBar text={notice} dismiss={setNotice} />
        {loaded && <Columns state={state} />}
        {loaded && <Announcer rows={rows} />}
        {dialog === 'shortcuts' && <ShortcutsDialog close={hide} />}
        {dialog === 'about' && settings && <AboutDialog settings={settings} close={hide} />}
      </NoticeContext.Provider>
    </ClockContext.Provider>
  );
}

function useClock({ settings, skew }: State) {
  return useMemo(
    () => ({ manual: settings?.clock === 'manual', now: Date.parse(settings?.now ?? ''), skew }),
    [settings, skew],
  );
}
