// Adds a standing fault: the kind, which deliveries, how often and how likely.
import { useState } from 'preact/hooks';
import { api } from '../live/api.js';
import type { Webhook } from '../live/wire.js';
import { FormEnd } from '../parts/form-end.js';
import { shortUrl } from '../parts/format.js';
import { SelectField } from '../parts/select-field.js';
import { TextField } from '../parts/text-field.js';
import { useForm } from '../parts/use-form.js';
import { faultWords } from './fault-words.js';

interface FaultFormProps {
  readonly faultKinds: readonly string[];
  readonly webhooks: readonly Webhook[];
  readonly close: () => void;
}

const FIELDS = ['kind', 'event', 'webhook', 'times', 'probability'];
const TIMES = [
  ['1', 'Once'],
  ['2', 'Twice'],
  ['5', '5 times'],
  ['10', '10 times'],
  ['always', 'Always'],
] as const;
const PERCENT = { type: 'number', min: 1, max: 100, required: true, class: 'number' } as const;

export function FaultForm({ faultKinds, webhooks, close }: FaultFormProps) {
  const [rule, setRule] = useState({
    ...{ kind: faultKinds[0] ?? '', event: '', webhook: '' },
    ...{ times: '1', probability: '100' },
  });
  const { errors, problem, send } = useForm(FIELDS, async () => {
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
    <form class="form" onSubmit={send} onKeyDown={(event) => event.key === 'Escape' && close()}>
      <SelectField label="Fault" options={kinds} hint={faultWords(rule.kind)} {...bind('kind')} />
      <TextField label="Events" class="mono" placeholder="all, or transaction.*" {...bind('event')} />
      <SelectField label="Webhook" options={[['', 'All'], ...targets]} {...bind('webhook')} />
      <div class="field-row">
        <TextField label="Likely, %" {...PERCENT} {...bind('probability')} />
        <SelectField label="How often" options={TIMES} {...bind('times')} />
      </div>
      <FormEnd verb="Turn on" problem={problem} cancel={close} />
    </form>
  );
}

function fieldsOf({ kind, event, webhook, times, probability }: Record<string, string>) {
  return {
    kind: kind ?? '',
    ...(event?.trim() && { event: event.trim() }),
    ...(webhook && { webhook }),
    times: times === 'always' ? times : Number(times),
    probability: Number(probability) / 100,
  } as const;
}
