// One attempt in three tabs: the request, the response, and how the signature was computed.
import type { ComponentChild, ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { BodyView, HeaderTable } from '../pages/components/code-view.js';
import { byteLength } from '../pages/components/format.js';
import type { Attempt, Delivery, Settings } from './api.js';
import { signatureEffect } from './fault-text.js';
import { ResponseStatus } from './status.js';

interface AttemptTabsProps {
  readonly attempt: Attempt;
  readonly delivery: Delivery;
  readonly sandbox: boolean;
  readonly settings: Settings | undefined;
}

export function AttemptTabs({ attempt, delivery, sandbox, settings }: AttemptTabsProps) {
  return (
    <Tabs
      label={`Attempt ${attempt.number}`}
      tabs={[
        ['Request', <RequestView delivery={delivery} attempt={attempt} />],
        ['Response', <ResponseView attempt={attempt} />],
        ['Signature', <SignatureView attempt={attempt} sandbox={sandbox} settings={settings} />],
      ]}
    />
  );
}

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly (readonly [name: string, content: ComponentChild])[];
}

/** One tab stop; the arrow keys move between the tabs. */
function Tabs({ label, tabs }: TabsProps) {
  const id = useId();
  const [chosen, choose] = useState(0);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = (chosen + step + tabs.length) % tabs.length;
    choose(next);
    document.getElementById(`${id}-tab-${next}`)?.focus();
  };
  return (
    <div>
      <div class="tab-list" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map(([name], index) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-tab-${index}`}
            aria-selected={index === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={index === chosen ? 0 : -1}
            onClick={() => choose(index)}
          >
            {name}
          </button>
        ))}
      </div>
      <div class="tab-panel stack" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-tab-${chosen}`}>
        {tabs[chosen]?.[1]}
      </div>
    </div>
  );
}

function RequestView({ attempt, delivery }: { attempt: Attempt; delivery: Delivery }) {
  const { method, url, headers, body } = attempt.request;
  return (
    <>
      <p class="mono wrap">
        <strong>{method}</strong> {url}
      </p>
      <BodyView label="Request body" body={body} rawLabel="As sent" />
      <HeaderTable label="Request headers" headers={headers} />
      <p class="note wrap">
        Delivery <span class="mono">{delivery.id}</span> to webhook{' '}
        <span class="mono">{delivery.webhook_id}</span>
      </p>
    </>
  );
}

function ResponseView({ attempt: { response, error, outcome } }: { attempt: Attempt }) {
  if (!response) {
    return (
      <p class="wrap">
        No response. <strong class="mono">{error?.code}</strong> {error?.message}
      </p>
    );
  }
  return (
    <>
      <p>
        <ResponseStatus status={response.status} error={undefined} outcome={outcome} />
      </p>
      <BodyView label="Response body" body={response.body} rawLabel="As received" />
      {response.body_truncated && (
        <p class="note">
          The body is incomplete. The simulator keeps the first 64 KiB, and the connection may have closed
          earlier.
        </p>
      )}
      <HeaderTable label="Response headers" headers={response.headers} />
    </>
  );
}

interface SignatureViewProps {
  readonly attempt: Attempt;
  readonly sandbox: boolean;
  readonly settings: Settings | undefined;
}

const CHECK = 'openssl dgst -sha256 -hmac "$SERVICE_PRIVATE_KEY" < body.json';

function SignatureView({ attempt, sandbox, settings }: SignatureViewProps) {
  const { headers, body, body_sha256: digest } = attempt.request;
  const usual = settings?.signature_header ?? 'X-SERVICE-SIGNATURE';
  // An event can be triggered with another header.
  const sent =
    headers.find(([header]) => header.toLowerCase() === usual.toLowerCase()) ??
    headers.find(([, text]) => /^[0-9a-f]{64}$/i.test(text));
  const [name, value] = sent ?? [usual];
  const key = sandbox && settings?.sandbox_signing === 'sandbox-key' ? 'sandbox key' : 'private key';
  const effect = signatureEffect(attempt.fault);
  const bytes = byteLength(body).toLocaleString('en');
  return (
    <>
      {effect && <p class="callout tone-fault">{effect}</p>}
      <ol class="steps">
        <Step title="Take the raw body" result={digest}>
          {bytes} bytes, exactly as sent. Parsing and serializing the JSON again would change them. Compare
          their SHA-256 with what you received:
        </Step>
        <Step title={`Compute HMAC-SHA256 with the account’s ${key}`}>
          The simulator and your app have the key in their environment. It is never sent, and never shown
          here.
        </Step>
        <Step title="Write the digest as 64 lower-case hex digits" result={value}>
          {value === undefined ? 'Not sent this time:' : 'Sent as'} <code>{name}</code>.
        </Step>
        <Step title="Check it yourself" result={CHECK}>
          Save the raw body as body.json, then run:
        </Step>
      </ol>
    </>
  );
}

interface StepProps {
  readonly title: string;
  readonly result?: string | undefined;
  readonly children: ComponentChildren;
}

function Step({ title, result, children }: StepProps) {
  return (
    <li>
      <h3>{title}</h3>
      <p class="muted">{children}</p>
      {result !== undefined && <code class="code-block digest wrap">{result}</code>}
    </li>
  );
}
