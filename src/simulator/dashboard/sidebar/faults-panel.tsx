// The standing faults: those in force, and the form that adds one.
import { api } from '../live/api.js';
import type { Fault, Webhook } from '../live/wire.js';
import { useAction } from '../parts/notice.js';
import { pure } from '../parts/pure.js';
import { Adder } from './adder.js';
import { FaultForm } from './fault-form.js';
import { faultText } from './fault-text.js';
import { focusPanel } from './focus.js';
import { Panel } from './panel.js';

interface FaultsPanelProps {
  readonly faults: readonly Fault[];
  readonly webhooks: readonly Webhook[];
  readonly faultKinds: readonly string[];
}

export const FaultsPanel = pure(({ faults, webhooks, faultKinds }: FaultsPanelProps) => {
  const remove = useAction(async (id: string) => {
    await api.removeFault(id);
    focusPanel('faults');
  });
  const some = faults.length > 0;
  return (
    <Panel title="Faults" id="faults" fact={some ? `${faults.length} on` : undefined}>
      {some && (
        <ul class="faults">
          {faults.map((fault) => (
            <li key={fault.id}>
              <span class="wrap">{faultText(fault, webhooks)}</span>
              <button
                type="button"
                class="button small quiet"
                aria-label={`Remove ${fault.kind}`}
                onClick={() => remove(fault.id)}
              >
                Remove
              </button>
            </li>
          ))}
        </ul>
      )}
      <Adder
        label="Add a fault"
        note={some ? undefined : 'Everything goes out whole and in order.'}
        form={(close) => <FaultForm faultKinds={faultKinds} webhooks={webhooks} close={close} />}
      />
    </Panel>
  );
});
