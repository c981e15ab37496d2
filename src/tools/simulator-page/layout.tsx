// The columns under the header: sidebar, list of deliveries, and the open delivery.
import { useAction } from '../pages/components/button.js';
import { Columns, useSelection, useTitle } from '../pages/components/columns.js';
import { focus, focusedRow } from '../pages/components/focus.js';
import { focusSearch } from '../pages/components/search-bar.js';
import { api } from './api.js';
import { Deliveries, useFound } from './deliveries.js';
import { Detail } from './detail.js';
import { FaultBanner, FaultsPanel } from './faults.js';
import { Onboarding } from './onboarding.js';
import { PrivateKeyPanel } from './private-key.js';
import { STATUS_LABELS, shownStatus } from './shown-status.js';
import { useShortcuts, useSimulator } from './simulator-context.js';
import { TriggerPanel } from './trigger.js';
import { WebhooksPanel } from './webhooks.js';

export function Layout() {
  const { rows, route, navigate } = useSimulator();
  const selected = route.delivery;
  const found = useFound();
  const ids = found.shown.map(({ id }) => id);
  // The next delivery opens at its latest attempt, in the same tab.
  const select = (delivery: string | undefined) => navigate({ delivery, attempt: undefined });
  const { open, close } = useSelection({ ids, selected, select });
  const row = rows.find(({ id }) => id === selected);
  useTitle(row && `${row.event_name}, ${STATUS_LABELS[shownStatus(row)]}`, 'Webhook simulator');
  const resend = useAction(() => {
    const current = rows.find(({ id }) => id === (selected ?? focusedRow()));
    return current && (current.next_attempt_at === null ? api.resend : api.retryNow)(current.id);
  });
  useShortcuts({ n: composeEvent, r: resend, '/': focusSearch });
  return (
    <Columns
      sidebarLabel="Trigger, webhooks, faults and private key"
      sidebar={
        <>
          <TriggerPanel />
          <WebhooksPanel />
          <FaultsPanel />
          <PrivateKeyPanel />
        </>
      }
      detail={selected && <Detail key={selected} id={selected} row={row} close={close} />}
    >
      <FaultBanner />
      {rows.length === 0 ? <Onboarding /> : <Deliveries found={found} open={open} />}
    </Columns>
  );
}

function composeEvent(): void {
  document.querySelector('#trigger')?.setAttribute('open', '');
  focus('#trigger input');
}
