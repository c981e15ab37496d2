// The standing faults: those in force, and the form that adds one.
import { useState } from 'preact/hooks';
import { api } from '../live/api.js';
import type { Fault, Webhook } from '../live/wire.js';
import { Icon } from '../parts/icon.js';
import { useAction } from '../parts/notice.js';
import { pure } from '../parts/pure.js';
import { FaultForm } from './fault-form.js';
import { faultText } from './fault-text.js';
import { Panel } from './panel.js';

interface FaultsPanelProps {
  readonly faults: readonly Fault[];
  readonly webhooks: readonly Webhook[];
  readonly faultKinds: readonly string[];
}

export const FaultsPanel = pure(({ faults, webhooks, faultKinds }: FaultsPanelProps) => {
  const [adding, setAdding] = useState(false);
  const remove = useAction(api.removeFault);
  return (
    <Panel title="Faults" id="faults" fact={faults.length > 0 ? `${faults.length} on` : undefined}>
      {faults.length > 0 ? (
        <ul class="faults">
          {faults.map((fault) => (
            <li key={fault.id}>
              <span class="wrap">{faultText(fault, webhooks)}</span>
              <button
                type="button"
                class="button small quiet"
                aria-label={`Remove ${fault.kind}`}
                onClick={() => remove.run(fault.id)}
              >
                Remove
              </button>
            </li>
          ))}
        </ul>
      ) : (
        !adding && <p class="note">Everything goes out whole and in order.</p>
      )}
      {adding ? (
        <FaultForm faultKinds={faultKinds} webhooks={webhooks} close={() => setAdding(false)} />
      ) : (
        <button type="button" class="button" onClick={() => setAdding(true)}>
          <Icon name="plus" />
          Add a fault
        </button>
      )}
    </Panel>
  );
});
