// Registers a webhook, or changes one: its URL and its events.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { WebhookFields } from '../live/api.js';
import type { Webhook } from '../live/wire.js';
import { FormEnd } from '../parts/form-end.js';
import { TextField } from '../parts/text-field.js';
import { useForm } from '../parts/use-form.js';
import { EventsField } from './events-field.js';

interface WebhookFormProps {
  /** The webhook to change; none: a new one. */
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
  const { errors, problem, send } = useForm(['url', 'events'], async () => {
    await save({ url: url.trim(), events });
    close();
  });
  return (
    <form ref={form} class="form" onSubmit={send} onKeyDown={(event) => event.key === 'Escape' && close()}>
      <TextField label="URL" {...URL_INPUT} value={url} change={setUrl} errors={errors.url} />
      <EventsField events={events} eventNames={eventNames} errors={errors.events} change={setEvents} />
      <FormEnd verb={verb} problem={problem} cancel={close} />
    </form>
  );
}
