// The form that registers or changes a webhook: its URL and its events.
import type { Webhook, WebhookFields } from '../api/api.js';
import { Field, Form } from '../components/form.js';

interface WebhookFormProps {
  /** The webhook to change; a new one when left out. */
  readonly webhook?: Webhook;
  readonly save: (fields: WebhookFields) => Promise<unknown>;
  readonly verb: string;
  readonly close: () => void;
}

export function WebhookForm({ webhook, save, verb, close }: WebhookFormProps) {
  const { url = '', events = [] } = webhook ?? {};
  const submit = async (values: FormData) => {
    const chosen = String(values.get('events'))
      .split(/[\s,]+/)
      .filter(Boolean);
    await save({ url: String(values.get('url')).trim(), events: chosen.length > 0 ? chosen : ['*'] });
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
        defaultValue={url}
      />
      <Field
        label="Events"
        name="events"
        class="mono"
        placeholder="all, or transaction.paid, refund.*"
        hint="Names or patterns, separated by commas. Leave it empty for all events."
        defaultValue={events.includes('*') ? '' : events.join(', ')}
      />
    </Form>
  );
}
