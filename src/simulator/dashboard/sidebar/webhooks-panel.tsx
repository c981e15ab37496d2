// The registered webhooks, and the form that registers another.
import { useState } from 'preact/hooks';
import { api } from '../live/api.js';
import type { Webhook } from '../live/wire.js';
import { Icon } from '../parts/icon.js';
import { pure } from '../parts/pure.js';
import { Panel } from './panel.js';
import { WebhookForm } from './webhook-form.js';
import { WebhookItem } from './webhook-item.js';

interface WebhooksPanelProps {
  readonly webhooks: readonly Webhook[];
  readonly eventNames: readonly string[];
}

export const WebhooksPanel = pure(({ webhooks, eventNames }: WebhooksPanelProps) => {
  const [adding, setAdding] = useState(false);
  return (
    <Panel title="Webhooks" id="webhooks" fact={webhooks.length > 0 ? String(webhooks.length) : undefined}>
      {webhooks.length > 0 ? (
        <ul class="webhooks">
          {webhooks.map((webhook) => (
            <WebhookItem key={webhook.id} webhook={webhook} eventNames={eventNames} />
          ))}
        </ul>
      ) : (
        !adding && <p class="note">None yet: events reach nobody.</p>
      )}
      {adding ? (
        <WebhookForm
          eventNames={eventNames}
          save={api.createWebhook}
          verb="Register"
          close={() => setAdding(false)}
        />
      ) : (
        <button type="button" class="button" onClick={() => setAdding(true)}>
          <Icon name="plus" />
          Register a webhook
        </button>
      )}
    </Panel>
  );
});
