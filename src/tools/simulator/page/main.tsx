// The page: it follows the simulator, and renders the header, the sidebar, the list and the open delivery.
import { render } from 'preact';
import { useEffect, useReducer, useRef } from 'preact/hooks';
import { useAction } from '../../web/components/button.js';
import { ClockProvider } from '../../web/components/clock.js';
import { Columns, useSelection, useTitle } from '../../web/components/columns.js';
import { focus, focusedRow } from '../../web/components/focus.js';
import { Icon } from '../../web/components/icon.js';
import { Page, useAnnounce, useKeys } from '../../web/components/page-frame.js';
import { focusSearch } from '../../web/components/search-bar.js';
import { useRoute } from '../../web/components/use-route.js';
import { api } from './api.js';
import { CapturePanel, CaptureSteps } from './capture.js';
import { Deliveries, useFound } from './deliveries.js';
import { Detail } from './detail.js';
import { FaultBanner, FaultsPanel } from './faults.js';
import { Onboarding } from './onboarding.js';
import { PrivateKeyPanel } from './private-key.js';
import { routing } from './route.js';
import { follow, SimulatorContext, useSimulator } from './simulator.js';
import { initialState, reduce } from './state.js';
import { TriggerPanel } from './trigger.js';
import { WebhooksPanel } from './webhooks.js';
import '../../web/styles/base.css';
import '../../web/styles/components.css';
import '../../web/styles/layout.css';
import './simulator.css';
import { announcement, STATUS_LABELS, shownStatus } from './texts.js';

const SHORTCUTS = {
  j: 'Next delivery',
  k: 'Previous delivery',
  Enter: 'Open the delivery',
  Escape: 'Close the delivery',
  r: 'Retry now, or resend',
  n: 'Trigger an event',
  '/': 'Search',
  p: 'Hold or show new deliveries',
  '?': 'Show these shortcuts',
} as const;

const { n: _, ...CAPTURE_SHORTCUTS } = SHORTCUTS;

const CONNECTION_LABELS = {
  connecting: 'Connecting…',
  live: 'Live',
  lost: 'Connection lost. Reconnecting…',
} as const;

function App() {
  const [state, dispatch] = useReducer(reduce, initialState);
  const [route, navigate] = useRoute(routing);
  useEffect(() => follow(dispatch), []);
  const { settings, skew, rows, loaded, connection } = state;
  const loadOlder = async () => dispatch({ type: 'older', data: await api.rows(rows.length) });
  return (
    <ClockProvider manual={settings?.clock === 'manual' ? settings.now : undefined} skew={skew}>
      <SimulatorContext.Provider value={{ ...state, route, navigate, loadOlder }}>
        <Page
          title={settings?.capture ? 'Webhook capture' : 'Webhook simulator'}
          lists="deliveries"
          status={
            <>
              <p class={connection === 'lost' ? 'cluster problem' : 'cluster muted'} role="status">
                <Icon name={connection === 'live' ? 'delivered' : 'pending'} />
                <span class={connection}>{CONNECTION_LABELS[connection]}</span>
              </p>
              {settings?.state_error && (
                <p class="problem" role="alert">
                  The state file cannot be written: {settings.state_error}
                </p>
              )}
            </>
          }
          buttons={
            <a class="button quiet" href="/_sim/what-is-documented" target="_blank" rel="noreferrer">
              Docs
            </a>
          }
          shortcuts={settings?.capture ? CAPTURE_SHORTCUTS : SHORTCUTS}
          epoch={connection}
        >
          {loaded && <Layout />}
        </Page>
      </SimulatorContext.Provider>
    </ClockProvider>
  );
}

function Layout() {
  const { rows, route, navigate, settings } = useSimulator();
  const capture = settings?.capture;
  const selected = route.delivery;
  const found = useFound();
  const ids = found.shown.map(({ id }) => id);
  // The next delivery opens at its latest attempt, in the same tab.
  const select = (delivery: string | undefined) => navigate({ delivery, attempt: undefined });
  const { open, close } = useSelection({ ids, selected, select });
  const row = rows.find(({ id }) => id === selected);
  useTitle(row && `${row.event_name}, ${STATUS_LABELS[shownStatus(row)]}`, 'Webhook simulator');
  useAnnouncements();
  const resend = useAction(() => {
    const current = rows.find(({ id }) => id === (selected ?? focusedRow()));
    return current && (current.next_attempt_at === null ? api.resend : api.retryNow)(current.id);
  });
  useKeys<keyof typeof SHORTCUTS>({
    ...(!capture && {
      n: () => {
        document.querySelector('#trigger')?.setAttribute('open', '');
        focus('#trigger input');
      },
    }),
    r: resend,
    '/': focusSearch,
    ...(rows.length > 0 && { p: found.hold.toggle }),
  });
  return (
    <Columns
      sidebarLabel={capture ? 'Capture' : 'Trigger, webhooks, faults and private key'}
      sidebar={
        capture ? (
          <CapturePanel />
        ) : (
          <>
            <TriggerPanel />
            <WebhooksPanel />
            <FaultsPanel />
            <PrivateKeyPanel />
          </>
        )
      }
      detail={selected && <Detail key={selected} id={selected} row={row} close={close} />}
    >
      <FaultBanner />
      {rows.length === 0 ? (
        capture ? (
          <CaptureSteps />
        ) : (
          <Onboarding />
        )
      ) : (
        <Deliveries found={found} open={open} />
      )}
    </Columns>
  );
}

const COLLECT_MS = 1_500;

/** Announces to screen readers which deliveries settled, in batches: a burst is one announcement. */
function useAnnouncements(): void {
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
}

render(<App />, document.body);
