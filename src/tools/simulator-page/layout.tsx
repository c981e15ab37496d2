// The columns under the header: the sidebar, the list of deliveries, and the delivery that is open.
import { memo } from 'preact/compat';
import { useCallback } from 'preact/hooks';
import { focus, focusRow } from '../pages/components/focus.js';
import { useRoute } from '../pages/components/use-route.js';
import type { FaultKind } from './api.js';
import { Deliveries } from './deliveries.js';
import { Detail } from './detail.js';
import { FaultBanner, FaultsPanel } from './faults.js';
import { Onboarding } from './onboarding.js';
import { PrivateKeyPanel } from './private-key.js';
import { routing } from './route.js';
import { useShortcuts } from './shortcuts.js';
import type { State } from './state.js';
import { TriggerPanel } from './trigger.js';
import { RowsContext, WebhooksPanel } from './webhooks.js';

export function Layout({ state }: { state: State }) {
  const [route, navigate] = useRoute(routing);
  const { settings, rows, webhooks, faults, samples } = state;
  const selected = route.delivery;
  const open = useCallback(
    (id: string) => {
      navigate({ delivery: id });
      requestAnimationFrame(() => focus('#detail-title'));
    },
    [navigate],
  );
  const close = useCallback(() => {
    navigate({ delivery: undefined });
    if (selected) requestAnimationFrame(() => focusRow(selected));
  }, [navigate, selected]);
  useShortcuts({ n: composeEvent, ...(selected && { Escape: close }) });
  const row = rows.find(({ id }) => id === selected);
  return (
    <div class={selected ? 'columns with-detail' : 'columns'}>
      <RowsContext.Provider value={rows}>
        <Sidebar webhooks={webhooks} faults={faults} samples={samples} faultKinds={settings?.fault_kinds} />
      </RowsContext.Provider>
      <main class="main" id="main" tabIndex={-1}>
        <div class="list">
          <FaultBanner faults={faults} webhooks={webhooks} />
          {rows.length === 0 && !selected ? (
            <Onboarding webhooks={webhooks} samples={samples} />
          ) : (
            <Deliveries rows={rows} route={route} navigate={navigate} open={open} />
          )}
        </div>
        {selected && <Detail key={selected} id={selected} row={row} settings={settings} close={close} />}
      </main>
    </div>
  );
}

function composeEvent(): void {
  document.querySelector('#trigger')?.setAttribute('open', '');
  focus('#trigger input');
}

interface SidebarProps extends Pick<State, 'webhooks' | 'faults' | 'samples'> {
  readonly faultKinds: readonly FaultKind[] | undefined;
}

const Sidebar = memo(({ webhooks, faults, samples, faultKinds = [] }: SidebarProps) => (
  <aside class="sidebar" aria-label="Trigger, webhooks, faults and private key">
    <TriggerPanel samples={samples} faultKinds={faultKinds} />
    <WebhooksPanel webhooks={webhooks} />
    <FaultsPanel faults={faults} webhooks={webhooks} faultKinds={faultKinds} />
    <PrivateKeyPanel />
  </aside>
));
