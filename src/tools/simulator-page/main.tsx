// Starts the page: subscribes to the simulator, and renders its header and its state.
import { render } from 'preact';
import { useEffect, useReducer, useRef } from 'preact/hooks';
import { ClockProvider } from '../pages/components/clock.js';
import { Icon } from '../pages/components/icon.js';
import { Page, useAnnounce } from '../pages/components/page-frame.js';
import { useRoute } from '../pages/components/use-route.js';
import { announcement } from './announcement.js';
import { Layout } from './layout.js';
import { routing } from './route.js';
import { SHORTCUTS, SimulatorContext, useSimulator } from './simulator-context.js';
import { follow, initialState, olderThan, reduce } from './state.js';
import '../pages/styles/base.css';
import '../pages/styles/components.css';
import '../pages/styles/layout.css';
import './simulator.css';

const COLLECT_MS = 1_500;

function App() {
  const [state, dispatch] = useReducer(reduce, initialState);
  const [route, navigate] = useRoute(routing);
  useEffect(() => follow(dispatch), []);
  const { settings, skew, rows, loaded, connection } = state;
  const loadOlder = async () => dispatch(await olderThan(rows.length));
  return (
    <ClockProvider manual={settings?.clock === 'manual' ? settings.now : undefined} skew={skew}>
      <SimulatorContext.Provider value={{ ...state, route, navigate, loadOlder }}>
        <Page
          title="Webhook simulator"
          lists="deliveries"
          status={<Connection />}
          buttons={
            <a class="button quiet" href="/_sim/what-is-documented" target="_blank" rel="noreferrer">
              Docs
            </a>
          }
          shortcuts={SHORTCUTS}
          epoch={connection}
        >
          {loaded && <Layout />}
          {loaded && <Announcements />}
        </Page>
      </SimulatorContext.Provider>
    </ClockProvider>
  );
}

const CONNECTION_LABELS = {
  connecting: 'Connecting…',
  live: 'Live',
  lost: 'Connection lost. Reconnecting…',
} as const;

function Connection() {
  const { connection, settings } = useSimulator();
  const stateError = settings?.state_error;
  return (
    <>
      <p class={connection === 'lost' ? 'cluster problem' : 'cluster muted'} role="status">
        <Icon name={connection === 'live' ? 'delivered' : 'pending'} />
        <span class={connection}>{CONNECTION_LABELS[connection]}</span>
      </p>
      {stateError && (
        <p class="problem" role="alert">
          The state file cannot be written: {stateError}
        </p>
      )}
    </>
  );
}

/** Announces to screen readers which deliveries settled, in batches: a burst is one announcement. */
function Announcements() {
  const { rows } = useSimulator();
  const announce = useAnnounce();
  const latest = useRef(rows);
  latest.current = rows;
  useEffect(() => {
    let announced = latest.current;
    const timer = setInterval(() => {
      const next = announcement(announced, latest.current);
      announced = latest.current;
      if (next) announce(next);
    }, COLLECT_MS);
    return () => clearInterval(timer);
  }, [announce]);
  return null;
}

render(<App />, document.body);
