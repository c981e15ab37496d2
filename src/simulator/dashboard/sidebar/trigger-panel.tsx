// Triggers an event: its name, its payload, how many, and with which fault.
import { useMemo, useState } from 'preact/hooks';
import { api, type TriggerResult } from '../api/api.js';
import type { Sample } from '../api/api-types.js';
import { faultEffect } from '../components/fault-text.js';
import { SelectField, TextField } from '../components/field.js';
import { Problem, useForm } from '../components/form.js';
import { memo } from '../components/memo.js';
import { checkPayload } from './check-payload.js';
import { Panel } from './panel.js';
import { PayloadField } from './payload-field.js';

interface TriggerPanelProps {
  readonly samples: readonly Sample[];
  readonly faultKinds: readonly string[];
}

const COUNT = { type: 'number', min: 1, max: 1000, required: true } as const;

export const TriggerPanel = memo(({ samples, faultKinds }: TriggerPanelProps) => {
  const { draft, set, payload, form, result } = useTrigger(samples);
  const bind = (field: 'name' | 'count' | 'fault', apiField: string) => ({
    value: draft[field],
    errors: form.errors[apiField],
    change: (value: string) => set({ [field]: value }),
  });
  const submitOnEnter = (event: KeyboardEvent) =>
    event.key === 'Enter' && (event.ctrlKey || event.metaKey) && form.submit(event);
  const faults = [['', 'None'] as const, ...faultKinds.map((kind) => [kind, kind] as const)];
  return (
    <Panel title="Trigger" id="trigger">
      <form class="stack" onSubmit={form.submit} onKeyDown={submitOnEnter}>
        <EventNameField samples={samples} {...bind('name', 'event_name')} />
        <PayloadField {...payload} errors={form.errors.payload} />
        <div class="field-row">
          <TextField label="Count" {...COUNT} {...bind('count', 'count')} />
          <SelectField
            label="Fault"
            options={faults}
            hint={faultEffect(draft.fault)}
            {...bind('fault', 'fault')}
          />
        </div>
        <label class="cluster">
          <input type="checkbox" checked={draft.sandbox} onChange={() => set({ sandbox: !draft.sandbox })} />
          Sandbox event
        </label>
        <Problem text={form.problem} />
        <button type="submit" class="button primary" disabled={!payload.check.valid}>
          {draft.count === '1' ? 'Trigger event' : `Trigger ${draft.count} events`}
        </button>
        <p class="note" role="status">
          {result}
        </p>
      </form>
    </Panel>
  );
});

interface EventNameFieldProps {
  readonly samples: readonly Sample[];
  readonly value: string;
  readonly errors: readonly string[] | undefined;
  readonly change: (name: string) => void;
}

/** Any event name; the declared ones are suggested. */
function EventNameField({ samples, ...field }: EventNameFieldProps) {
  return (
    <>
      <TextField label="Event" class="mono" list="event-names" required {...field} />
      <datalist id="event-names">
        {samples.map(({ event_name }) => (
          <option key={event_name} value={event_name} />
        ))}
      </datalist>
    </>
  );
}

interface Draft {
  readonly name: string;
  readonly count: string;
  readonly fault: string;
  readonly sandbox: boolean;
  /** Undefined: the sample of the event, unchanged. */
  readonly edited: string | undefined;
}

const FIELDS = ['event_name', 'payload', 'count', 'fault'];

/** The event that is being composed, and how it is sent. */
function useTrigger(samples: readonly Sample[]) {
  const [draft, setDraft] = useState<Draft>({
    name: samples[0]?.event_name ?? '',
    count: '1',
    fault: '',
    sandbox: false,
    edited: undefined,
  });
  const [result, setResult] = useState('');
  const set = (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change }));
  const sample = samples.find(({ event_name }) => event_name === draft.name)?.sample.payload;
  const text = draft.edited ?? JSON.stringify(sample ?? {}, null, 2);
  const check = useMemo(() => checkPayload(text, sample), [text, sample]);
  const form = useForm(FIELDS, async () => {
    setResult('');
    if (!check.valid) throw new Error(check.problem);
    const { name, sandbox, count, fault } = draft;
    const event = { event_name: name.trim(), payload: check.payload, sandbox, count: Number(count) };
    setResult(describe(await api.trigger({ ...event, ...(fault && { fault: { kind: fault } }) })));
  });
  const payload = {
    text,
    check,
    reset: draft.edited === undefined ? undefined : () => set({ edited: undefined }),
    change: (edited: string) => set({ edited }),
  };
  return { draft, set, payload, form, result };
}

function describe({ data: { events, deliveries }, message }: TriggerResult): string {
  if (message) return message;
  const plural = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;
  return `Triggered ${plural(events.length, 'event', 'events')}: ${plural(deliveries.length, 'delivery', 'deliveries')}.`;
}
