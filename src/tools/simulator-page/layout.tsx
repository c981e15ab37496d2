// The columns under the header: the sidebar, the list of deliveries, and the delivery that is open.
import { useAction } from '../pages/components/button.js';
import { Columns, useSelection, useTitle } from '../pages/components/columns.js';
import { focus, focusedRow } from '../pages/components/focus.js';
import { focusSearch } from '../pages/components/search-bar.js';
import { useRoute } from '../pages/components/use-route.js';
import { api } from './api.js';
import { Deliveries, useFound } from './deliveries.js';
import { Detail } from './detail.js';
import { FaultBanner, FaultsPanel } from './faults.js';
import { Onboarding } from './onboarding.js';
import { PrivateKeyPanel } from './private-key.js';
import { routing, withDelivery } from './route.js';
import { useShortcuts } from './shortcuts.js';
import { STATUS_LABELS, shownStatus } from './shown-status.js';
import type { State } from './state.js';
import { TriggerPanel } from './trigger.js';
import { WebhooksPanel } from './webhooks.js';

interface LayoutProps {
  readonly state: State;
  readonly loadOlder: () => Promise<void>;
}

export function Layout({ state, loadOlder }: LayoutProps) {
  const [route, navigate] = useRoute(routing);
  const { settings, rows, older, webhooks, faults, samples, connection } = state;
  const { query, delivery: selected } = route;
  const found = useFound(rows, query);
  const select = (id: string | undefined) => navigate(withDelivery(route, id));
  const { open, close } = useSelection({ ids: found.shown.map(({ id }) => id), selected, select });
  const row = rows.find(({ id }) => id === selected);
  useTitle(row && `${row.event_name}, ${STATUS_LABELS[shownStatus(row)]}`, 'Webhook simulator');
  const resend = useAction(() => {
    const current = rows.find(({ id }) => id === (selected ?? focusedRow()));
    return current && (current.next_attempt_at === null ? api.resend : api.retryNow)(current.id);
  });
  useShortcuts({ n: composeEvent, r: resend, '/': focusSearch });
  const faultKinds = settings?.fault_kinds ?? [];
  return (
    <Columns
      sidebarLabel="Trigger, webhooks, faults and private key"
      sidebar={
        <>
          <TriggerPanel samples={samples} faultKinds={faultKinds} webhooks={webhooks} />
          <WebhooksPanel webhooks={webhooks} rows={rows} />
          <FaultsPanel faults={faults} webhooks={webhooks} faultKinds={faultKinds} />
          <PrivateKeyPanel />
        </>
      }
      detail={
        selected && (
          <Detail
            key={selected}
            {...{ route, navigate, row, settings, close }}
            id={selected}
            connection={connection}
          />
        )
      }
    >
      <FaultBanner faults={faults} webhooks={webhooks} />
      {rows.length === 0 ? (
        <Onboarding webhooks={webhooks} samples={samples} />
      ) : (
        <Deliveries {...{ rows, found, older, loadOlder, route, navigate, open }} />
      )}
    </Columns>
  );
}

function composeEvent(): void {
  document.querySelector('#trigger')?.setAttribute('open', '');
  focus('#trigger input');
}
