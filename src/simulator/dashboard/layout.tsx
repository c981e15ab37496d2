// The columns under the header: the sidebar, the list of deliveries, and the delivery that is open.
import { useCallback } from 'preact/hooks';
import type { State } from './api/state.js';
import { focusDelivery, focusDetail, focusTrigger } from './components/focus.js';
import { memo } from './components/memo.js';
import { useShortcuts } from './components/shortcuts.js';
import { Deliveries } from './deliveries/deliveries.js';
import { FaultBanner } from './deliveries/fault-banner.js';
import { Onboarding } from './deliveries/onboarding.js';
import { Detail } from './detail/detail.js';
import { FaultsPanel } from './sidebar/faults-panel.js';
import { TriggerPanel } from './sidebar/trigger-panel.js';
import { RowsContext, WebhooksPanel } from './sidebar/webhooks-panel.js';
import { useRoute } from './use-route.js';

export function Layout({ state }: { state: State }) {
  const [route, navigate] = useRoute();
  const { settings, rows, webhooks, faults, samples } = state;
  const selected = route.delivery;
  const open = useCallback(
    (id: string) => {
      navigate({ delivery: id });
      requestAnimationFrame(focusDetail);
    },
    [navigate],
  );
  const close = useCallback(() => {
    navigate({ delivery: undefined });
    if (selected) requestAnimationFrame(() => focusDelivery(selected));
  }, [navigate, selected]);
  useShortcuts({ n: focusTrigger, ...(selected && { Escape: close }) });
  const row = rows.find(({ id }) => id === selected);
  return (
    <div class={selected ? 'columns with-detail' : 'columns'}>
      <RowsContext.Provider value={rows}>
        <Sidebar webhooks={webhooks} faults={faults} samples={samples} settings={settings} />
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

const NONE: readonly string[] = [];

type SidebarProps = Pick<State, 'webhooks' | 'faults' | 'samples' | 'settings'>;

const Sidebar = memo(({ webhooks, faults, samples, settings }: SidebarProps) => {
  const { event_names: eventNames = NONE, fault_kinds: faultKinds = NONE } = settings ?? {};
  return (
    <aside class="sidebar" aria-label="Webhooks, trigger and faults">
      <WebhooksPanel webhooks={webhooks} eventNames={eventNames} />
      <TriggerPanel samples={samples} faultKinds={faultKinds} />
      <FaultsPanel faults={faults} webhooks={webhooks} faultKinds={faultKinds} />
    </aside>
  );
});
