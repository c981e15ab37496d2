// How the signature of an attempt was computed, step by step. The key itself never reaches the page.
import type { ComponentChildren } from 'preact';
import { byteLength } from '../pages/components/format.js';
import type { Attempt, Settings } from './api.js';
import { signatureEffect } from './fault-text.js';

interface SignatureViewProps {
  readonly attempt: Attempt;
  readonly sandbox: boolean;
  readonly settings: Settings | undefined;
}

const CHECK = 'openssl dgst -sha256 -hmac "$SERVICE_PRIVATE_KEY" < body.json';

export function SignatureView({ attempt, sandbox, settings }: SignatureViewProps) {
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
