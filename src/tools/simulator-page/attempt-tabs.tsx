// One attempt in three tabs: the request, the response, and how the signature was computed.
import type { ComponentChild, ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { BodyView, HeaderTable } from '../pages/components/code-view.js';
import { useLoaded } from '../pages/components/columns.js';
import { byteLength, showInvisible } from '../pages/components/format.js';
import { type Attempt, api, type Delivery, type Settings } from './api.js';
import { diffText, type Part } from './diff.js';
import { signatureEffect } from './fault-text.js';
import type { Navigate, Route } from './route.js';
import { ResponseStatus } from './status.js';

interface AttemptTabsProps {
  readonly attempt: Attempt;
  readonly delivery: Delivery;
  readonly sandbox: boolean;
  readonly settings: Settings | undefined;
  readonly route: Route;
  readonly navigate: Navigate;
}

export function AttemptTabs(props: AttemptTabsProps) {
  const { attempt, delivery, sandbox, settings, route, navigate } = props;
  return (
    <Tabs
      label={`Attempt ${attempt.number}`}
      chosen={route.tab}
      choose={(tab) => navigate({ tab })}
      tabs={[
        ['Request', <RequestView delivery={delivery} attempt={attempt} />],
        ['Response', <ResponseView attempt={attempt} />],
        ['Signature', <SignatureView {...{ attempt, delivery, sandbox, settings }} />],
      ]}
    />
  );
}

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly (readonly [name: string, content: ComponentChild])[];
  /** The name of a tab, in lower case; the first one when left out. */
  readonly chosen: string | undefined;
  readonly choose: (name: string | undefined) => void;
}

/** One tab stop; the arrow keys move between the tabs. */
function Tabs({ label, tabs, chosen: name, choose: chooseName }: TabsProps) {
  const id = useId();
  const chosen = Math.max(
    0,
    tabs.findIndex(([tab]) => tab.toLowerCase() === name),
  );
  const choose = (index: number) => chooseName(index === 0 ? undefined : tabs[index]?.[0].toLowerCase());
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = (chosen + step + tabs.length) % tabs.length;
    choose(next);
    document.getElementById(`${id}-tab-${next}`)?.focus();
  };
  return (
    <div class="tabs">
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
  readonly delivery: Delivery;
  readonly sandbox: boolean;
  readonly settings: Settings | undefined;
}

const CHECK = 'openssl dgst -sha256 -hmac "$SERVICE_PRIVATE_KEY" < body.json';

function SignatureView({ attempt, delivery, sandbox, settings }: SignatureViewProps) {
  const { headers, body, body_sha256: digest } = attempt.request;
  const load = () => api.signature(delivery.id, attempt.number);
  const { signed, expected } = useLoaded(load, [delivery.id, attempt.number]).data ?? {};
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
      {signed !== undefined && signed !== body && (
        <section class="stack" aria-labelledby="signed-title">
          <h3 id="signed-title">What was signed, and what was sent instead</h3>
          <Difference parts={diffText(signed, body)} />
        </section>
      )}
      <ol class="steps">
        <Step title="Take the raw body" result={digest}>
          {bytes} bytes, exactly as sent. Parsing and serializing the JSON again would change them. Compare
          their SHA-256 with what you received:
        </Step>
        <Step title={`Compute HMAC-SHA256 with the account’s ${key}`} result={expected}>
          The simulator and your app have the key in their environment. It is never sent, and never shown
          here. Of these bytes, with the key of now:
        </Step>
        <Step
          title="Compare it with the signature that was sent"
          result={value && marked(value, expected ?? value)}
        >
          {value === undefined ? 'Not sent this time:' : 'Sent as'} <code>{name}</code>
          {value !== undefined &&
            expected !== undefined &&
            (value === expected ? ', the same:' : ', not the same:')}
        </Step>
        <Step title="Check it yourself" result={CHECK}>
          Save the raw body as body.json, then run:
        </Step>
      </ol>
    </>
  );
}

const CONTEXT = 40;

/** Of what is the same, only the surroundings of what is not. */
function Difference({ parts }: { parts: readonly Part[] }) {
  const around = (text: string, index: number) => {
    if (text.length <= 2 * CONTEXT) return text;
    const before = index === 0 ? '' : text.slice(0, CONTEXT);
    const after = index === parts.length - 1 ? '' : text.slice(-CONTEXT);
    return `${before}…${after}`;
  };
  return (
    <code class="code-block wrap difference">
      {parts.map(({ kind, text }, index) => {
        if (kind === 'same') return <span key={index}>{showInvisible(around(text, index))}</span>;
        const Change = kind === 'removed' ? 'del' : 'ins';
        return <Change key={index}>{showInvisible(text)}</Change>;
      })}
    </code>
  );
}

/** The hex digits that differ from those that are expected are marked. */
function marked(value: string, expected: string): ComponentChildren {
  return [...value].map((digit, index) =>
    digit === expected[index] ? digit : <mark key={index}>{digit}</mark>,
  );
}

interface StepProps {
  readonly title: string;
  readonly result?: ComponentChildren;
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
