// The active faults: the panel that lists and adds them, and the banner above the deliveries.
import { useState } from 'preact/hooks';
import { Button } from '../../web/components/button.js';
import { DialogButton } from '../../web/components/dialog.js';
import { focus } from '../../web/components/focus.js';
import { Field, Form } from '../../web/components/form.js';
import { shortUrl } from '../../web/components/format.js';
import { Icon } from '../../web/components/icon.js';
import { Panel } from '../../web/components/page-frame.js';
import { api, type FaultKind, type FaultRule } from './api.js';
import { useSimulator } from './simulator.js';
import { FAULT_KINDS, faultEffect, faultText } from './texts.js';

export function FaultBanner() {
  const { faults, webhooks } = useSimulator();
  const [first] = faults;
  if (!first) return null;
  const removeAll = () => api.removeFaults().then(() => focus('#main'));
  return (
    <div class="fault-banner spread tone-fault" role="status">
      <Icon name="fault" />
      <p class="wrap">
        <strong>Faults:</strong> {faultText(first, webhooks)}
        {faults.length > 1 && `, and ${faults.length - 1} more`}.
      </p>
      <Button look="small" label="Remove all faults" text="Remove all" act={removeAll} />
    </div>
  );
}

export function FaultsPanel() {
  const { faults, webhooks } = useSimulator();
  const remove = (id: string) => () => api.removeFault(id).then(() => focus('#faults > summary'));
  return (
    <Panel title="Faults" id="faults" count={faults.length}>
      {faults.length === 0 && <p class="note">No faults. Every delivery is sent unchanged.</p>}
      <ul class="stack">
        {faults.map((fault) => (
          <li class="spread" key={fault.id}>
            <span class="wrap">{faultText(fault, webhooks)}</span>
            <Button look="small quiet" label={`Remove ${fault.kind}`} text="Remove" act={remove(fault.id)} />
          </li>
        ))}
      </ul>
      <DialogButton title="Add fault">
        <FaultForm />
      </DialogButton>
    </Panel>
  );
}

const TIMES = [
  ['1', 'Once'],
  ['2', 'Twice'],
  ['5', '5 times'],
  ['10', '10 times'],
  ['always', 'Always'],
] as const;

const PERCENT = { type: 'number', min: 1, max: 100, required: true, defaultValue: '100' } as const;

function FaultForm() {
  const { webhooks } = useSimulator();
  const [kind, setKind] = useState(FAULT_KINDS[0]?.[0] ?? '');
  const targets = webhooks.map(({ id, url }) => [id, shortUrl(url)] as const);
  return (
    <Form verb="Add" submit={(values) => api.addFault(ruleOf(values))}>
      <Field label="Fault" name="kind" options={FAULT_KINDS} hint={faultEffect(kind)} change={setKind} />
      <Field label="Events" name="event" class="mono" placeholder="all, or transaction.*" />
      <Field label="Webhook" name="webhook" options={[['', 'All'], ...targets]} />
      <div class="field-row">
        <Field label="Chance, %" name="probability" {...PERCENT} />
        <Field label="How often" name="times" options={TIMES} />
      </div>
    </Form>
  );
}

function ruleOf(values: FormData): FaultRule {
  const text = (name: string) => String(values.get(name)).trim();
  return {
    kind: text('kind') as FaultKind,
    event: text('event') || null,
    webhook: text('webhook') || null,
    times: text('times') === 'always' ? 'always' : Number(text('times')),
    probability: Number(text('probability')) / 100,
  };
}
