// The columns under the head: what can be done, what was delivered, and one delivery in detail.
import { useCallback } from 'preact/hooks';
import { Deliveries } from './deliveries/deliveries.js';
import { FaultBanner } from './deliveries/fault-banner.js';
import { focusDelivery, focusDetail } from './deliveries/focus.js';
import { Onboarding } from './deliveries/onboarding.js';
import { Detail } from './detail/detail.js';
import type { State } from './live/state.js';
import { useShortcuts } from './parts/shortcuts.js';
import { focusTrigger } from './sidebar/focus.js';
import { Sidebar } from './sidebar/sidebar.js';
import { usePlace } from './use-place.js';

export function Columns({ state }: { state: State }) {
  const [place, go] = usePlace();
  const { settings, rows, webhooks, faults, samples } = state;
  const selected = place.delivery;
  const open = useCallback(
    (id: string) => {
      go({ delivery: id });
      requestAnimationFrame(focusDetail);
    },
    [go],
  );
  const close = useCallback(() => {
    go({ delivery: undefined });
    if (selected) requestAnimationFrame(() => focusDelivery(selected));
  }, [go, selected]);
  useShortcuts({ n: focusTrigger, ...(selected && { Escape: close }) });
  const row = rows.find(({ id }) => id === selected);
  return (
    <div class={selected ? 'columns with-detail' : 'columns'}>
      <Sidebar webhooks={webhooks} faults={faults} samples={samples} settings={settings} />
      <main class="main" id="main" tabIndex={-1}>
        <div class="list">
          <FaultBanner faults={faults} webhooks={webhooks} />
          {rows.length === 0 && !selected ? (
            <Onboarding webhooks={webhooks} samples={samples} />
          ) : (
            <Deliveries rows={rows} place={place} go={go} open={open} />
          )}
        </div>
        {selected && <Detail key={selected} id={selected} row={row} settings={settings} close={close} />}
      </main>
    </div>
  );
}
