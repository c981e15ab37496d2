// The empty state: three steps to the first delivery, each done on this page.
import type { ComponentChildren } from 'preact';
import { api, type Sample, type Webhook } from '../api/api.js';
import { focusMain } from '../components/focus.js';
import { Field, Form } from '../components/form.js';
import { shortUrl } from '../components/format.js';

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
      <ol class="steps">
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
      </ol>
    </section>
  );
}

interface StepProps {
  readonly title: string;
  readonly done?: boolean;
  readonly children: ComponentChildren;
}

function Step({ title, done = false, children }: StepProps) {
  return (
    <li class={done ? 'done' : undefined}>
      <h3>
        {title}
        {done && <span class="visually-hidden"> (done)</span>}
      </h3>
      {children}
    </li>
  );
}

/** Registers a webhook for all events; asks only for its URL. */
function FirstWebhook() {
  const register = async (values: FormData) => {
    await api.createWebhook({ url: String(values.get('url')).trim() });
    focusMain();
  };
  return (
    <Form verb="Register" submit={register}>
      <Field
        label="URL of your endpoint"
        name="url"
        type="url"
        class="mono"
        required
        defaultValue="http://localhost:3000/hooks"
      />
    </Form>
  );
}

/** Triggers the sample of the first declared event. */
function FirstEvent({ sample, ready }: { sample: Sample | undefined; ready: boolean }) {
  const trigger = async () => {
    if (!sample) return;
    await api.trigger({ event_name: sample.event_name, payload: sample.sample.payload });
    focusMain();
  };
  return (
    <Form verb={`Trigger ${sample?.event_name ?? 'an event'}`} submit={trigger} disabled={!ready || !sample}>
      <p class="note">
        {ready ? 'The delivery, its attempts and its retries appear here.' : 'Register a webhook first.'}
      </p>
    </Form>
  );
}
