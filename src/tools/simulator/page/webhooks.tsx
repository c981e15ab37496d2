// The registered webhooks with their actions, and the form that registers or edits one.
import { Button } from '../../web/components/button.js';
import { useLoaded } from '../../web/components/columns.js';
import { DialogButton } from '../../web/components/dialog.js';
import { focus, focusSoon } from '../../web/components/focus.js';
import { Field, Form } from '../../web/components/form.js';
import { plural, shortUrl } from '../../web/components/format.js';
import { Panel } from '../../web/components/page-frame.js';
import { api, type Webhook } from './api.js';
import { useSimulator } from './simulator.js';

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
      <DialogButton title="Register webhook">
        <WebhookForm />
      </DialogButton>
    </Panel>
  );
}

function WebhookItem({ webhook }: { webhook: Webhook }) {
  const { id, url, events, paused } = webhook;
  const pause = paused ? 'Resume' : 'Pause';
  const togglePause = () => api.updateWebhook(id, { paused: !paused });
  return (
    <li class="card">
      <p class="spread">
        <strong class="mono wrap">{shortUrl(url)}</strong>
        {paused && <span class="tag">paused</span>}
      </p>
      <p class="note wrap">{events.includes('*') ? 'All events' : events.join(', ')}</p>
      <div class="toolbar">
        <DialogButton title="Edit webhook" text="Edit" look="small quiet" label={`Edit ${url}`}>
          <WebhookForm webhook={webhook} />
        </DialogButton>
        <Button look="small quiet" label={`${pause} ${url}`} text={pause} act={togglePause} />
        <DialogButton title="Delete webhook" text="Delete" look="small quiet danger" label={`Delete ${url}`}>
          <DeleteQuestion webhook={webhook} />
        </DialogButton>
      </div>
    </li>
  );
}

const EXAMPLE = 'http://localhost:3000/hooks';

const URL_FIELD = { name: 'url', type: 'url', class: 'mono', required: true } as const;

/** @param webhook the one to edit; omit it to register a new one */
function WebhookForm({ webhook }: { webhook?: Webhook }) {
  const { url = '', events = [] } = webhook ?? {};
  const submit = async (values: FormData) => {
    const chosen = String(values.get('events')).match(/[^\s,]+/g) ?? ['*'];
    const fields = { url: String(values.get('url')), events: chosen };
    await (webhook ? api.updateWebhook(webhook.id, fields) : api.createWebhook(fields));
  };
  return (
    <Form verb={webhook ? 'Save' : 'Register'} submit={submit}>
      <Field label="URL" {...URL_FIELD} autofocus placeholder={EXAMPLE} defaultValue={url} />
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

export function FirstWebhook() {
  const register = (values: FormData) =>
    api.createWebhook({ url: String(values.get('url')) }).then(() => focus('#main'));
  return (
    <Form verb="Register" submit={register}>
      <Field label="URL of your endpoint" {...URL_FIELD} defaultValue={EXAMPLE} />
    </Form>
  );
}

function DeleteQuestion({ webhook: { id, url } }: { webhook: Webhook }) {
  const { rows } = useSimulator();
  // Asks the simulator, because the page may have loaded only some deliveries.
  const counting = () => api.count({ webhook: id, status: 'retrying' });
  const { data: retries } = useLoaded(counting, [rows]);
  const remove = () => api.deleteWebhook(id).then(() => focusSoon('#webhooks > summary'));
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
