// The form that registers or changes a webhook: its URL and its events.
import type { ComponentChildren } from 'preact';
import type { Webhook, WebhookFields } from '../api/api.js';
import { Field, Form } from '../components/form.js';

interface WebhookFormProps {
  /** The webhook to change; a new one when left out. */
  readonly webhook?: Webhook;
  readonly eventNames: readonly string[];
  readonly save: (fields: WebhookFields) => Promise<unknown>;
  readonly verb: string;
  readonly close: () => void;
}

export function WebhookForm({ webhook, eventNames, save, verb, close }: WebhookFormProps) {
  const submit = async (values: FormData) => {
    await save({ url: String(values.get('url')).trim(), events: chosenEvents(values) });
    close();
  };
  return (
    <Form verb={verb} submit={submit} cancel={close}>
      <Field
        label="URL"
        name="url"
        type="url"
        class="mono"
        required
        autofocus
        placeholder="http://localhost:3000/hooks"
        defaultValue={webhook?.url ?? ''}
      />
      <EventsField events={webhook?.events ?? ['*']} eventNames={eventNames} />
    </Form>
  );
}

interface EventsFieldProps {
  readonly events: readonly string[];
  readonly eventNames: readonly string[];
}

/** The stylesheet hides the names while all events are chosen. */
function EventsField({ events, eventNames }: EventsFieldProps) {
  const all = events.includes('*');
  const others = events.filter((event) => event !== '*' && !eventNames.includes(event));
  return (
    <fieldset class="field stack">
      <legend>Events</legend>
      <Choice type="radio" name="choice" value="all" defaultChecked={all}>
        All events
      </Choice>
      <Choice type="radio" name="choice" value="selected" defaultChecked={!all}>
        Selected events
      </Choice>
      <div class="selected-events field stack">
        {eventNames.map((event) => (
          <Choice
            key={event}
            type="checkbox"
            name="event"
            value={event}
            defaultChecked={all || events.includes(event)}
          >
            <span class="mono">{event}</span>
          </Choice>
        ))}
        <Field
          label="Others, separated by commas"
          name="events"
          hint="Names, or patterns such as refund.*"
          class="mono"
          defaultValue={others.join(', ')}
        />
      </div>
    </fieldset>
  );
}

interface ChoiceProps {
  readonly type: 'radio' | 'checkbox';
  readonly name: string;
  readonly value: string;
  readonly defaultChecked: boolean;
  readonly children: ComponentChildren;
}

function Choice({ children, ...input }: ChoiceProps) {
  return (
    <label class="cluster">
      <input {...input} />
      {children}
    </label>
  );
}

function chosenEvents(values: FormData): string[] {
  if (values.get('choice') === 'all') return ['*'];
  const others = String(values.get('events')).split(/[\s,]+/);
  return [...values.getAll('event').map(String), ...others.filter((name) => name !== '' && name !== '*')];
}
