// Starts the page: subscribes to the simulator and renders its state.
import { render } from 'preact';
import { useCallback, useEffect, useReducer, useRef, useState } from 'preact/hooks';
import { NoticeContext } from '../pages/components/button.js';
import { Notice } from '../pages/components/notice.js';
import { ShortcutsDialog } from '../pages/components/shortcuts.js';
import { AboutDialog } from './about-dialog.js';
import { announcement } from './announcement.js';
import { Header } from './header.js';
import { Layout } from './layout.js';
import { ClockProvider } from './retry-countdown.js';
import { SHORTCUTS, useShortcuts } from './shortcuts.js';
import { initialState, reduce, type State } from './state.js';
import { follow } from './stream.js';
import '../pages/styles/tokens.css';
import '../pages/styles/base.css';
import '../pages/styles/components.css';
import '../pages/styles/layout.css';
import '../pages/styles/list.css';
import './simulator.css';
import './detail.css';

function App() {
  const [state, dispatch] = useReducer(reduce, initialState);
  const [dialog, show] = useState<'about' | 'shortcuts'>();
  const [notice, setNotice] = useState<string>();
  useEffect(() => follow(dispatch), []);
  useShortcuts({ '?': () => show('shortcuts') });
  const hide = useCallback(() => show(undefined), []);
  const { settings, skew, rows, loaded, connection } = state;
  return (
    <ClockProvider settings={settings} skew={skew}>
      <NoticeContext.Provider value={setNotice}>
        <a class="skip-link button" href="#main">
          Skip to deliveries
        </a>
        <Header connection={connection} stateError={settings?.state_error ?? null} show={show} />
        <Notice text={notice} dismiss={() => setNotice(undefined)} />
        {loaded && <Layout state={state} />}
        {loaded && <Announcer rows={rows} />}
        {dialog === 'shortcuts' && <ShortcutsDialog shortcuts={SHORTCUTS} closed={hide} />}
        {dialog === 'about' && settings && <AboutDialog settings={settings} closed={hide} />}
      </NoticeContext.Provider>
    </ClockProvider>
  );
}

const COLLECT_MS = 1_500;

/** Tells screen readers which deliveries settled; collected, so that a burst is one announcement. */
function Announcer({ rows }: Pick<State, 'rows'>) {
  const [text, setText] = useState('');
  const latest = useRef(rows);
  latest.current = rows;
  useEffect(() => {
    let announced = latest.current;
    const timer = setInterval(() => {
      const next = announcement(announced, latest.current);
      announced = latest.current;
      if (next) setText(next);
    }, COLLECT_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <p class="visually-hidden" aria-live="polite">
      {text}
    </p>
  );
}

render(<App />, document.body);
