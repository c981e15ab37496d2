// The registered webhooks, and the form that registers another.
import { api } from '../live/api.js';
import type { Webhook } from '../live/wire.js';
import { pure } from '../parts/pure.js';
import { Adder } from './adder.js';
import { Panel } from './panel.js';
import { WebhookForm } from './webhook-form.js';
import { WebhookItem } from './webhook-item.js';

interface WebhooksPanelProps {
  readonly webhooks: readonly Webhook[];
  readonly eventNames: readonly string[];
}

export const WebhooksPanel = pure(({ webhooks, eventNames }: WebhooksPanelProps) => {
  const some = webhooks.length > 0;
  return (
    <Panel title="Webhooks" id="webhooks" fact={some ? String(webhooks.length) : undefined}>
      {some && (
        <ul class="webhooks">
          {webhooks.map((webhook) => (
            <WebhookItem key={webhook.id} webhook={webhook} eventNames={eventNames} />
          ))}
        </ul>
      )}
      <Adder
        label="Register a webhook"
        note={some ? undefined : 'None yet: events reach nobody.'}
        form={(close) => (
          <WebhookForm eventNames={eventNames} save={api.createWebhook} verb="Register" close={close} />
        )}
      />
    </Panel>
  );
});
