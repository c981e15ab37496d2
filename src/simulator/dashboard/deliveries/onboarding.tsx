// What stands in place of an empty list: three steps to the first delivery, each done right here.
import type { ComponentChildren } from 'preact';
import type { Sample, Webhook } from '../live/wire.js';
import { shortUrl } from '../parts/format.js';
import { Icon } from '../parts/icon.js';
import { FirstEvent } from './first-event.js';
import { FirstWebhook } from './first-webhook.js';

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
      <h2 id="onboarding-title" class="part-title">
        Nothing has been delivered yet
      </h2>
      <p class="lead">Three steps to your first signed webhook. Nothing leaves this machine.</p>
      <ol class="walk">
        <Step number={1} title="Start your endpoint">
          <p>
            Give it the private key that the simulator printed when it started, as{' '}
            <code>SERVICE_PRIVATE_KEY</code>. The smallest one:
          </p>
          <pre class="snippet">{RECEIVER}</pre>
        </Step>
        <Step number={2} title="Register its URL" done={webhook !== undefined}>
          {webhook ? (
            <p>
              <span class="mono wrap">{shortUrl(webhook.url)}</span> is registered.
            </p>
          ) : (
            <FirstWebhook />
          )}
        </Step>
        <Step number={3} title="Send an event">
          <FirstEvent sample={sample} ready={webhook !== undefined} />
        </Step>
      </ol>
    </section>
  );
}

interface StepProps {
  readonly number: number;
  readonly title: string;
  readonly done?: boolean;
  readonly children: ComponentChildren;
}

function Step({ number, title, done = false, children }: StepProps) {
  return (
    <li class={done ? 'step done' : 'step'}>
      <span class="step-number" aria-hidden="true">
        {done ? <Icon name="delivered" /> : number}
      </span>
      <div>
        <h3>
          {title}
          {done && <span class="visually-hidden"> (done)</span>}
        </h3>
        {children}
      </div>
    </li>
  );
}
