// What can be set and done: webhooks, triggering an event, faults.
import type { State } from '../live/state.js';
import { pure } from '../parts/pure.js';
import { FaultsPanel } from './faults-panel.js';
import { TriggerPanel } from './trigger-panel.js';
import { WebhooksPanel } from './webhooks-panel.js';

type SidebarProps = Pick<State, 'webhooks' | 'faults' | 'samples' | 'settings'>;

const NONE: readonly string[] = [];

export const Sidebar = pure(({ webhooks, faults, samples, settings }: SidebarProps) => {
  const { event_names: eventNames = NONE, fault_kinds: faultKinds = NONE } = settings ?? {};
  return (
    <aside class="sidebar" aria-label="Webhooks, trigger and faults">
      <WebhooksPanel webhooks={webhooks} eventNames={eventNames} />
      <TriggerPanel samples={samples} faultKinds={faultKinds} />
      <FaultsPanel faults={faults} webhooks={webhooks} faultKinds={faultKinds} />
    </aside>
  );
});
