// The form that registers or changes a webhook: its URL and its events.
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { WebhookFields } from '../api/api.js';
import type { Webhook } from '../api/api-types.js';
import { TextField } from '../components/field.js';
import { FormFooter, useForm } from '../components/form.js';

interface WebhookFormProps {
  /** The webhook to change; a new one when left out. */
  readonly webhook?: Webhook;
  readonly eventNames: readonly string[];
  readonly save: (fields: WebhookFields) => Promise<unknown>;
  readonly verb: string;
  readonly close: () => void;
}

const URL_INPUT = {
  type: 'url',
  class: 'mono',
  required: true,
  placeholder: 'http://localhost:3000/hooks',
} as const;

export function WebhookForm({ webhook, eventNames, save, verb, close }: WebhookFormProps) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector('input')?.focus(), []);
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [events, setEvents] = useState<readonly string[]>(webhook?.events ?? ['*']);
  const { errors, problem, submit } = useForm(['url', 'events'], async () => {
    await save({ url: url.trim(), events });
    close();
  });
  return (
    <form ref={form} class="stack" onSubmit={submit} onKeyDown={(event) => event.key === 'Escape' && close()}>
      <TextField label="URL" {...URL_INPUT} value={url} change={setUrl} errors={errors.url} />
      <EventsField events={events} eventNames={eventNames} errors={errors.events} change={setEvents} />
      <FormFooter verb={verb} problem={problem} cancel={close} />
    </form>
  );
}

interface EventsFieldProps {
  readonly events: readonly string[];
  readonly eventNames: readonly string[];
  readonly errors: readonly string[] | undefined;
  readonly change: (events: readonly string[]) => void;
}

function EventsField({ events, eventNames, errors, change }: EventsFieldProps) {
  const name = useId();
  const all = events.includes('*');
  return (
    <fieldset class="field stack">
      <legend>Events</legend>
      <label class="cluster">
        <input type="radio" name={name} checked={all} onChange={() => change(['*'])} />
        All events
      </label>
      <label class="cluster">
        <input type="radio" name={name} checked={!all} onChange={() => change(eventNames)} />
        Selected events
      </label>
      {!all && <SelectedEvents events={events} eventNames={eventNames} errors={errors} change={change} />}
    </fieldset>
  );
}

function SelectedEvents({ events, eventNames, errors, change }: EventsFieldProps) {
  const selected = events.filter((event) => eventNames.includes(event));
  const [others, setOthers] = useState(() =>
    events.filter((event) => !eventNames.includes(event)).join(', '),
  );
  const toggle = (event: string) => {
    const names = selected.includes(event) ? selected.filter((one) => one !== event) : [...selected, event];
    change([...names, ...split(others)]);
  };
  const type = (text: string) => {
    setOthers(text);
    change([...selected, ...split(text)]);
  };
  return (
    <div class="selected-events field stack">
      {eventNames.map((event) => (
        <label class="cluster" key={event}>
          <input type="checkbox" checked={selected.includes(event)} onChange={() => toggle(event)} />
          <span class="mono">{event}</span>
        </label>
      ))}
      <TextField
        label="Others, separated by commas"
        hint="Names, or patterns such as refund.*"
        class="mono"
        value={others}
        errors={errors}
        change={type}
      />
    </div>
  );
}

function split(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== '' && name !== '*');
}
