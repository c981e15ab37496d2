// How the signature of an attempt was computed, step by step; the key itself never reaches this page.
import type { ComponentChildren } from 'preact';
import type { Attempt, Settings } from '../live/wire.js';
import { byteLength } from '../parts/format.js';
import { signatureFault } from './signature-fault.js';

interface SignatureViewProps {
  readonly attempt: Attempt;
  readonly sandbox: boolean;
  readonly settings: Settings | undefined;
}

const CHECK = 'openssl dgst -sha256 -hmac "$SERVICE_PRIVATE_KEY" < body.json';

export function SignatureView({ attempt, sandbox, settings }: SignatureViewProps) {
  const { headers, body, body_sha256: digest } = attempt.request;
  const name = settings?.signature_header ?? 'X-SERVICE-SIGNATURE';
  const value = headers.find(([header]) => header.toLowerCase() === name.toLowerCase())?.[1];
  const key = sandbox && settings?.sandbox_signing === 'sandbox-key' ? 'sandbox key' : 'private key';
  const damage = signatureFault(attempt.fault);
  const bytes = byteLength(body).toLocaleString('en');
  const sent = value === undefined ? 'Left out this time:' : 'It went out as';
  return (
    <>
      {damage && <p class="callout callout-fault">{damage}</p>}
      <ol class="steps">
        <Step title="Take the body as bytes" result={digest}>
          {bytes} bytes, exactly as sent; parsing and printing the JSON again would change them. Their
          SHA-256, to compare with what you received:
        </Step>
        <Step title={`HMAC-SHA256, keyed with the account’s ${key}`}>
          The key is in the environment of the simulator and of your app. It is never sent, nor shown here.
        </Step>
        <Step title="Write the digest as 64 lower-case hex digits" result={value}>
          {sent} <code>{name}</code>.
        </Step>
        <Step title="Compute it yourself" result={CHECK}>
          With the body as sent, saved as body.json:
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
      <p>{children}</p>
      {result !== undefined && <code class="digest">{result}</code>}
    </li>
  );
}
