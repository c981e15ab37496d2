// Makes an event happen: its name, its payload, how many, and with which fault.
import type { Sample } from '../live/wire.js';
import { Problem } from '../parts/form-end.js';
import { pure } from '../parts/pure.js';
import { SelectField } from '../parts/select-field.js';
import { TextField } from '../parts/text-field.js';
import { faultWords } from './fault-words.js';
import { Panel } from './panel.js';
import { PayloadField } from './payload-field.js';
import { useTrigger } from './use-trigger.js';

interface TriggerPanelProps {
  readonly samples: readonly Sample[];
  readonly faultKinds: readonly string[];
}

const NAME = { class: 'mono', list: 'event-names', required: true } as const;
const COUNT = { class: 'number', type: 'number', min: 1, max: 1000, required: true } as const;

export const TriggerPanel = pure(({ samples, faultKinds }: TriggerPanelProps) => {
  const { event, set, payload, form, outcome } = useTrigger(samples);
  const bind = (field: 'name' | 'count' | 'fault', wire: string) => ({
    value: event[field],
    errors: form.errors[wire],
    change: (value: string) => set({ [field]: value }),
  });
  const sendNow = (pressed: KeyboardEvent) =>
    pressed.key === 'Enter' && (pressed.ctrlKey || pressed.metaKey) && form.send(pressed);
  return (
    <Panel title="Trigger" id="trigger">
      <form class="form" onSubmit={form.send} onKeyDown={sendNow}>
        <TextField label="Event" {...NAME} {...bind('name', 'event_name')} />
        <datalist id="event-names">
          {samples.map(({ event_name }) => (
            <option key={event_name} value={event_name} />
          ))}
        </datalist>
        <PayloadField {...payload} />
        <div class="field-row">
          <TextField label="Count" {...COUNT} {...bind('count', 'count')} />
          <FaultChoice kinds={faultKinds} {...bind('fault', 'fault')} />
        </div>
        <label class="choice">
          <input type="checkbox" checked={event.sandbox} onChange={() => set({ sandbox: !event.sandbox })} />
          As a sandbox event
        </label>
        <Problem text={form.problem} />
        <button type="submit" class="button primary wide" disabled={!payload.check.fine}>
          {event.count === '1' ? 'Send event' : `Send ${event.count} events`}
        </button>
        <p class="note" role="status">
          {outcome}
        </p>
      </form>
    </Panel>
  );
});

interface FaultChoiceProps {
  readonly kinds: readonly string[];
  readonly value: string;
  readonly errors: readonly string[] | undefined;
  readonly change: (kind: string) => void;
}

function FaultChoice({ kinds, ...field }: FaultChoiceProps) {
  const options = [['', 'None'] as const, ...kinds.map((kind) => [kind, kind] as const)];
  return <SelectField label="Fault" options={options} hint={faultWords(field.value)} {...field} />;
}
