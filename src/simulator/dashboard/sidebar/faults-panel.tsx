// The active faults, and the form that adds one.
import { useState } from 'preact/hooks';
import { api, type FaultFields } from '../api/api.js';
import type { Fault, Webhook } from '../api/api-types.js';
import { faultEffect, faultText } from '../components/fault-text.js';
import { SelectField, TextField } from '../components/field.js';
import { focusPanel } from '../components/focus.js';
import { FormFooter, useForm } from '../components/form.js';
import { shortUrl } from '../components/format.js';
import { memo } from '../components/memo.js';
import { useAction } from '../components/notice.js';
import { AddButton, Panel } from './panel.js';

interface FaultsPanelProps {
  readonly faults: readonly Fault[];
  readonly webhooks: readonly Webhook[];
  readonly faultKinds: readonly string[];
}

export const FaultsPanel = memo(({ faults, webhooks, faultKinds }: FaultsPanelProps) => {
  const remove = useAction(async (id: string) => {
    await api.removeFault(id);
    focusPanel('faults');
  });
  const { length } = faults;
  return (
    <Panel title="Faults" id="faults" count={length}>
      {length > 0 && (
        <ul class="stack">
          {faults.map((fault) => (
            <li class="spread" key={fault.id}>
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
      <AddButton
        label="Add fault"
        emptyText={length > 0 ? undefined : 'No faults. Every delivery is sent unchanged.'}
        form={(close) => <FaultForm faultKinds={faultKinds} webhooks={webhooks} close={close} />}
      />
    </Panel>
  );
});

const FIELDS = ['kind', 'event', 'webhook', 'times', 'probability'];
const TIMES = [
  ['1', 'Once'],
  ['2', 'Twice'],
  ['5', '5 times'],
  ['10', '10 times'],
  ['always', 'Always'],
] as const;
const BLANK = { event: '', webhook: '', times: '1', probability: '100' };
const PERCENT = { type: 'number', min: 1, max: 100, required: true } as const;

interface FaultFormProps {
  readonly faultKinds: readonly string[];
  readonly webhooks: readonly Webhook[];
  readonly close: () => void;
}

function FaultForm({ faultKinds, webhooks, close }: FaultFormProps) {
  const [rule, setRule] = useState({ ...BLANK, kind: faultKinds[0] ?? '' });
  const { errors, problem, submit } = useForm(FIELDS, async () => {
    await api.addFault(fieldsOf(rule));
    close();
  });
  const bind = (field: keyof typeof rule) => ({
    value: rule[field],
    errors: errors[field],
    change: (value: string) => setRule({ ...rule, [field]: value }),
  });
  const kinds = faultKinds.map((kind) => [kind, kind] as const);
  const targets = webhooks.map(({ id, url }) => [id, shortUrl(url)] as const);
  return (
    <form class="stack" onSubmit={submit} onKeyDown={(event) => event.key === 'Escape' && close()}>
      <SelectField label="Fault" options={kinds} hint={faultEffect(rule.kind)} {...bind('kind')} />
      <TextField label="Events" class="mono" placeholder="all, or transaction.*" {...bind('event')} />
      <SelectField label="Webhook" options={[['', 'All'], ...targets]} {...bind('webhook')} />
      <div class="field-row">
        <TextField label="Chance, %" {...PERCENT} {...bind('probability')} />
        <SelectField label="How often" options={TIMES} {...bind('times')} />
      </div>
      <FormFooter verb="Add fault" problem={problem} cancel={close} />
    </form>
  );
}

function fieldsOf({ kind = '', event, webhook, times, probability }: Record<string, string>): FaultFields {
  return {
    kind,
    ...(event?.trim() && { event: event.trim() }),
    ...(webhook && { webhook }),
    times: times === 'always' ? times : Number(times),
    probability: Number(probability) / 100,
  };
}
