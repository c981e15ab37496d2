// The empty state: three steps to the first delivery, each done on this page.
import { useState } from 'preact/hooks';
import { CopyButton } from '../../web/components/copy-button.js';
import { focus } from '../../web/components/focus.js';
import { Form } from '../../web/components/form.js';
import { shortUrl } from '../../web/components/format.js';
import { api } from './api.js';
import { useSimulator } from './simulator.js';
import { FirstWebhook } from './webhooks.js';

const RECEIVER = `import express from 'express';
import { receiver } from 'payment-webhooks';

const app = express();
const hooks = receiver();
hooks.on('transaction.paid', async (event) => {
  console.log('paid:', event.payload.transaction.order_id);
});
app.post('/hooks', hooks);
app.listen(3000);`;

export function Onboarding() {
  const { webhooks, samples } = useSimulator();
  const [webhook] = webhooks;
  const [sample] = samples;
  // Registered by the command line: --demo or --forward.
  const [first] = useState(webhook);
  const verb = `Trigger ${sample?.event_name ?? 'an event'}`;
  const trigger = async () => {
    if (!sample) return;
    await api.trigger({ event_name: sample.event_name, payload: sample.sample.payload });
    focus('#main');
  };
  return (
    <section class="onboarding" aria-labelledby="onboarding-title">
      <h2 id="onboarding-title">No deliveries yet</h2>
      <p class="muted">Three steps to your first signed webhook. Nothing leaves this machine.</p>
      <ol class="steps">
        <li class={first && 'done'}>
          <h3>Start your endpoint</h3>
          {first ? (
            <p class="muted">
              The simulator was started with <span class="mono wrap">{shortUrl(first.url)}</span>.
            </p>
          ) : (
            <>
              <p class="muted">
                Set <code>SERVICE_PRIVATE_KEY</code> to the private key that the simulator printed when it
                started. A minimal endpoint:
              </p>
              <pre class="code-block">{RECEIVER}</pre>
              <CopyButton label="Copy code" text={RECEIVER} look="small" />
            </>
          )}
        </li>
        <li class={webhook && 'done'}>
          <h3>Register a webhook</h3>
          {webhook ? (
            <p class="muted">
              <span class="mono wrap">{shortUrl(webhook.url)}</span> is registered.
            </p>
          ) : (
            <FirstWebhook />
          )}
        </li>
        <li>
          <h3>Trigger an event</h3>
          <Form verb={verb} submit={trigger} disabled={!webhook || !sample}>
            <p class="note">
              {webhook
                ? 'The delivery, its attempts and its retries appear here.'
                : 'Register a webhook first.'}
            </p>
          </Form>
        </li>
      </ol>
    </section>
  );
}
