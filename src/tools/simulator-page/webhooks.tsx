// The registered webhooks, what can be done with each, and the form that registers or changes one.
import { Button } from '../pages/components/button.js';
import { useLoaded } from '../pages/components/columns.js';
import { DialogButton } from '../pages/components/dialog.js';
import { focusSoon } from '../pages/components/focus.js';
import { Field, Form } from '../pages/components/form.js';
import { plural, shortUrl } from '../pages/components/format.js';
import { Panel } from '../pages/components/page-frame.js';
import { api, type Webhook, type WebhookFields } from './api.js';
import { Durations } from './charts.js';
import { useSimulator } from './simulator-context.js';

export function WebhooksPanel() {
  const { webhooks } = useSimulator();
  return (
    <Panel title="Webhooks" id="webhooks" count={webhooks.length}>
      {webhooks.length === 0 && <p class="note">No webhooks yet. Register one to receive events.</p>}
      <ul class="stack">
        {webhooks.map((webhook) => (
          <WebhookItem key={webhook.id} webhook={webhook} />
        ))}
      </ul>
      <DialogButton title="Register webhook" text="Register webhook">
        <WebhookForm save={api.createWebhook} verb="Register" />
      </DialogButton>
    </Panel>
  );
}

function WebhookItem({ webhook }: { webhook: Webhook }) {
  const { id, url, events, paused } = webhook;
  const save = api.updateWebhook.bind(api, id);
  const pause = paused ? 'Resume' : 'Pause';
  return (
    <li class="card">
      <p class="spread">
        <strong class="mono wrap">{shortUrl(url)}</strong>
        {paused && <span class="tag">paused</span>}
      </p>
      <p class="note wrap">{events.includes('*') ? 'All events' : events.join(', ')}</p>
      <Durations webhook={id} />
      <div class="toolbar">
        <DialogButton title="Edit webhook" text="Edit" look="small quiet" label={`Edit ${url}`}>
          <WebhookForm webhook={webhook} save={save} verb="Save" />
        </DialogButton>
        <Button look="small quiet" label={`${pause} ${url}`} act={() => save({ paused: !paused })}>
          {pause}
        </Button>
        <DialogButton title="Delete webhook" text="Delete" look="small quiet danger" label={`Delete ${url}`}>
          <DeleteQuestion webhook={webhook} />
        </DialogButton>
      </div>
    </li>
  );
}

interface WebhookFormProps {
  /** The webhook to change; a new one when left out. */
  readonly webhook?: Webhook;
  readonly save: (fields: WebhookFields) => Promise<unknown>;
  readonly verb: string;
}

function WebhookForm({ webhook, save, verb }: WebhookFormProps) {
  const { url = '', events = [] } = webhook ?? {};
  const submit = async (values: FormData) => {
    const chosen = String(values.get('events'))
      .split(/[\s,]+/)
      .filter(Boolean);
    await save({ url: String(values.get('url')).trim(), events: chosen.length > 0 ? chosen : ['*'] });
  };
  return (
    <Form verb={verb} submit={submit}>
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

function DeleteQuestion({ webhook: { id, url } }: { webhook: Webhook }) {
  const { rows } = useSimulator();
  // Asks the simulator: the page may list only some.
  const counting = () => api.count({ webhook: id, status: 'retrying' });
  const { data: retries } = useLoaded(counting, [rows]);
  const remove = async () => {
    await api.deleteWebhook(id);
    focusSoon('#webhooks > summary');
  };
  return (
    <Form verb="Delete" danger submit={remove} cancelVerb="Keep" disabled={retries === undefined}>
      <p class="mono wrap">{shortUrl(url)}</p>
      <p>
        {retries
          ? `Delete webhook and cancel ${plural(retries, 'pending retry', 'pending retries')}?`
          : 'Delete webhook?'}
      </p>
    </Form>
  );
}
