// The empty state: three steps to the first delivery, each done on this page.
import { useState } from 'preact/hooks';
import { api } from '../api/api.js';
import type { Sample, Webhook } from '../api/api-types.js';
import { TextField } from '../components/field.js';
import { focusMain } from '../components/focus.js';
import { Problem, useForm } from '../components/form.js';
import { shortUrl } from '../components/format.js';
import { Step, Steps } from '../components/steps.js';

interface OnboardingProps {
  readonly webhooks: readonly Webhook[];
  readonly samples: readonly Sample[];
}

const RECEIVER = `import express from 'express';
import { receiver } from 'payment-webhooks';

const app = express();
const hooks = receiver();
hooks.on('transaction.paid', async (event) => {
  console.log('paid:', event.payload.transaction.order_id);
});
app.post('/hooks', hooks);
app.listen(3000);`;

export function Onboarding({ webhooks: [webhook], samples: [sample] }: OnboardingProps) {
  return (
    <section class="onboarding" aria-labelledby="onboarding-title">
      <h2 id="onboarding-title">No deliveries yet</h2>
      <p class="muted">Three steps to your first signed webhook. Nothing leaves this machine.</p>
      <Steps>
        <Step title="Start your endpoint">
          <p class="muted">
            Set <code>SERVICE_PRIVATE_KEY</code> to the private key that the simulator printed when it
            started. A minimal endpoint:
          </p>
          <pre class="code-block">{RECEIVER}</pre>
        </Step>
        <Step title="Register a webhook" done={webhook !== undefined}>
          {webhook ? (
            <p class="muted">
              <span class="mono wrap">{shortUrl(webhook.url)}</span> is registered.
            </p>
          ) : (
            <FirstWebhook />
          )}
        </Step>
        <Step title="Trigger an event">
          <FirstEvent sample={sample} ready={webhook !== undefined} />
        </Step>
      </Steps>
    </section>
  );
}

/** Registers a webhook for all events; asks only for its URL. */
function FirstWebhook() {
  const [url, setUrl] = useState('http://localhost:3000/hooks');
  const { errors, problem, submit } = useForm(['url'], async () => {
    await api.createWebhook({ url: url.trim() });
    focusMain();
  });
  return (
    <form class="cluster" onSubmit={submit}>
      <TextField
        label="URL of your endpoint"
        type="url"
        class="mono"
        required
        value={url}
        change={setUrl}
        errors={errors.url}
      />
      <button type="submit" class="button primary">
        Register
      </button>
      <Problem text={problem} />
    </form>
  );
}

/** Triggers the sample of the first declared event. */
function FirstEvent({ sample, ready }: { sample: Sample | undefined; ready: boolean }) {
  const { problem, submit } = useForm([], async () => {
    if (!sample) return;
    const { event_name, sample: event } = sample;
    await api.trigger({ event_name, payload: event.payload, sandbox: false, count: 1 });
    focusMain();
  });
  return (
    <form class="stack" onSubmit={submit}>
      <p>
        <button type="submit" class="button primary" disabled={!ready || !sample}>
          Trigger {sample?.event_name ?? 'an event'}
        </button>
      </p>
      <p class="note">
        {ready ? 'The delivery, its attempts and its retries appear here.' : 'Register a webhook first.'}
      </p>
      <Problem text={problem} />
    </form>
  );
}
