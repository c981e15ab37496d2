// Starts the page: subscribes to the simulator, and renders its header and its state.
import { render } from 'preact';
import { memo } from 'preact/compat';
import { useCallback, useEffect, useReducer, useRef, useState } from 'preact/hooks';
import { Button, NoticeContext } from '../pages/components/button.js';
import { Icon } from '../pages/components/icon.js';
import { Notice, ShortcutsDialog, ThemeButton } from '../pages/components/page-frame.js';
import { AboutDialog } from './about-dialog.js';
import { announcement } from './announcement.js';
import { Layout } from './layout.js';
import { ClockProvider } from './retry-countdown.js';
import { SHORTCUTS, useShortcuts } from './shortcuts.js';
import { follow, initialState, reduce, type State } from './state.js';
import '../pages/styles/tokens.css';
import '../pages/styles/base.css';
import '../pages/styles/components.css';
import '../pages/styles/layout.css';
import '../pages/styles/list.css';
import './simulator.css';

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

interface HeaderProps {
  readonly connection: State['connection'];
  readonly stateError: string | null;
  readonly show: (dialog: 'about' | 'shortcuts') => void;
}

const CONNECTION_LABELS = {
  connecting: 'Connecting…',
  live: 'Live',
  lost: 'Connection lost. Reconnecting…',
} as const;

const Header = memo(({ connection, stateError, show }: HeaderProps) => {
  return (
    <header class="page-head cluster">
      <h1>Webhook simulator</h1>
      <p class={connection === 'lost' ? 'cluster problem' : 'cluster muted'} role="status">
        <Icon name={connection === 'live' ? 'delivered' : 'pending'} />
        {CONNECTION_LABELS[connection]}
      </p>
      {stateError && (
        <p class="problem" role="alert">
          The state file cannot be written: {stateError}
        </p>
      )}
      <div class="toolbar">
        <ThemeButton />
        <Button look="quiet" act={() => show('shortcuts')}>
          Shortcuts <kbd>?</kbd>
        </Button>
        <Button look="quiet" act={() => show('about')}>
          About
        </Button>
      </div>
    </header>
  );
});

render(<App />, document.body);
