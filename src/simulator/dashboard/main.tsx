// Starts the page: subscribes to the simulator and renders its state.
import { render } from 'preact';
import { useCallback, useEffect, useMemo, useReducer, useState } from 'preact/hooks';
import { Announcer } from './api/announcer.js';
import { initialState, reduce, type State } from './api/state.js';
import { subscribe } from './api/stream.js';
import { Notice, NoticeContext } from './components/notice.js';
import { ClockContext } from './components/retry-countdown.js';
import { useShortcuts } from './components/shortcuts.js';
import { AboutDialog } from './dialogs/about-dialog.js';
import { ShortcutsDialog } from './dialogs/shortcuts-dialog.js';
import { Header } from './header.js';
import { Layout } from './layout.js';

function App() {
  const [state, dispatch] = useReducer(reduce, initialState);
  const [dialog, show] = useState<'about' | 'shortcuts'>();
  const [notice, setNotice] = useState<string>();
  useEffect(() => subscribe(dispatch), []);
  useShortcuts({ '?': () => show('shortcuts') });
  const hide = useCallback(() => show(undefined), []);
  const { settings, rows, loaded, connection } = state;
  return (
    <ClockContext.Provider value={useClock(state)}>
      <NoticeContext.Provider value={setNotice}>
        <a class="skip-link button" href="#main">
          Skip to deliveries
        </a>
        <Header connection={connection} stateError={settings?.state_error ?? null} show={show} />
        <Notice text={notice} dismiss={() => setNotice(undefined)} />
        {loaded && <Layout state={state} />}
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

render(<App />, document.body);
