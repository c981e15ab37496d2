// One attempt in three tabs: the request, the response, and how the signature was computed.
import type { ComponentChildren, RenderableProps } from 'preact';
import { BodyView, HeaderTable } from '../../web/components/code-view.js';
import { useLoaded } from '../../web/components/columns.js';
import { byteLength, showInvisible } from '../../web/components/format.js';
import { type Attempt, api, type Delivery } from './api.js';
import { ResponseStatus } from './delivery-columns.js';
import { useSimulator } from './simulator.js';
import { signatureEffect } from './texts.js';

interface AttemptProps {
  readonly attempt: Attempt;
  readonly delivery: Delivery;
  readonly sandbox: boolean;
}

const TABS = { Request: RequestView, Response: ResponseView, Signature: SignatureView };

type Tab = keyof typeof TABS;

const NAMES = Object.keys(TABS) as Tab[];

/** One tab stop; the arrow keys move between the tabs. */
export function AttemptTabs(props: AttemptProps) {
  const { route, navigate } = useSimulator();
  const chosen = NAMES.find((name) => name.toLowerCase() === route.tab) ?? 'Request';
  const View = TABS[chosen];
  // A URL without a tab shows the first one.
  const choose = (name: Tab) => navigate({ tab: name === 'Request' ? undefined : name.toLowerCase() });
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = step && NAMES.at((NAMES.indexOf(chosen) + step) % NAMES.length);
    if (!next) return;
    event.preventDefault();
    choose(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <div class="tabs">
      <div class="tab-list" role="tablist" aria-label={`Attempt ${props.attempt.number}`} onKeyDown={move}>
        {NAMES.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={name === chosen}
            aria-controls="tab-panel"
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => choose(name)}
          >
            {name}
          </button>
        ))}
      </div>
      <div class="tab-panel stack" role="tabpanel" id="tab-panel" aria-labelledby={`tab-${chosen}`}>
        <View {...props} />
      </div>
    </div>
  );
}

function RequestView({ attempt, delivery }: AttemptProps) {
  const { method, url, headers, body } = attempt.request;
  return (
    <>
      <p class="mono wrap">
        <strong>{method}</strong> {url}
      </p>
      <BodyView label="Request body" body={body} rawLabel="As sent" />
      <HeaderTable label="Request headers" headers={headers} />
      <p class="note wrap">
        Delivery <span class="mono">{delivery.id}</span>
        {delivery.webhook_id !== '' && (
          <>
            {' '}
            to webhook <span class="mono">{delivery.webhook_id}</span>
          </>
        )}
      </p>
    </>
  );
}

function ResponseView({ attempt: { response, error, outcome } }: AttemptProps) {
  if (!response)
    return (
      <p class="wrap">
        No response. {error && !error.message.includes(error.code) && <code>{error.code} </code>}
        {error?.message}
      </p>
    );
  return (
    <>
      <p>
        <ResponseStatus status={response.status} outcome={outcome} />
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

const CHECK = 'openssl dgst -sha256 -hmac "$SERVICE_PRIVATE_KEY" < body.json';

function SignatureView({ attempt, delivery, sandbox }: AttemptProps) {
  const { settings } = useSimulator();
  const { headers, body, body_sha256: digest } = attempt.request;
  const load = () => api.signature(delivery.id, attempt.number);
  const { signed, expected, finding } = useLoaded(load, [delivery.id, attempt.number]).data ?? {};
  // An event can be triggered with a different header name.
  const sent = headers.find(([, text]) => /^[0-9a-f]{64}$/i.test(text));
  const [name, value] = sent ?? [settings?.signature_header];
  const key = sandbox && settings?.sandbox_signing === 'sandbox-key' ? 'sandbox key' : 'private key';
  const effect = signatureEffect(attempt.fault);
  const bytes = byteLength(body).toLocaleString('en');
  const checks = (
    <Step title="Check it yourself" result={CHECK}>
      Save the raw body as body.json, then run:
    </Step>
  );
  if (finding)
    return (
      <ol class="steps">
        <Step title="Take the raw body" result={digest}>
          {bytes} bytes, exactly as received. Their SHA-256:
        </Step>
        <Step title="Look for its HMAC-SHA256 by each of your keys" result={finding.header ?? undefined}>
          In the value of every header, in hexadecimal and base64.{' '}
          {finding.header ? 'It is in:' : 'None has it.'}
        </Step>
        {checks}
      </ol>
    );
  return (
    <>
      {effect && <p class="callout tone-fault">{effect}</p>}
      {signed !== undefined && signed !== body && (
        <section class="stack" aria-labelledby="signed-title">
          <h3 id="signed-title">What was signed, and what was sent instead</h3>
          <Difference before={signed} after={body} />
        </section>
      )}
      <ol class="steps">
        <Step title="Take the raw body" result={digest}>
          {bytes} bytes, exactly as sent. Parsing and serializing the JSON again would change them. Compare
          their SHA-256 with what you received:
        </Step>
        <Step title={`Compute HMAC-SHA256 with the account’s ${key}`} result={expected}>
          The simulator and your app have the key in their environment. It is never sent, and never shown
          here. The HMAC of these bytes with the current key:
        </Step>
        <Step title="Compare it with the signature that was sent" result={value && marked(value, expected)}>
          {value === undefined ? 'Sent without' : 'Sent as'} <code>{name}</code>
          {value && expected && (value === expected ? '. It matches:' : '. It does not match:')}
        </Step>
        {checks}
      </ol>
    </>
  );
}

const CONTEXT = 40;

function Difference({ before, after }: { before: string; after: string }) {
  const parts = compare([...before], [...after]);
  const shorten = (text: string, index: number) => {
    const start = index === 0 ? '' : text.slice(0, CONTEXT);
    const end = index === parts.length - 1 ? '' : text.slice(-CONTEXT);
    return text.length > 2 * CONTEXT ? `${start}…${end}` : text;
  };
  return (
    <code class="code-block wrap difference">
      {parts.map(({ tag: Tag, text }, index) => (
        <Tag key={index}>{showInvisible(Tag === 'span' ? shorten(text, index) : text)}</Tag>
      ))}
    </code>
  );
}

/** Faults replace a character, add white space or cut the end, so this needs no longest common subsequence. */
function compare(before: readonly string[], after: readonly string[]) {
  const parts: { tag: 'span' | 'del' | 'ins'; text: string }[] = [];
  const add = (tag: 'span' | 'del' | 'ins', text: string) => {
    const last = parts.at(-1);
    if (last?.tag === tag) last.text += text;
    else if (text !== '') parts.push({ tag, text });
  };
  let at = 0;
  for (const character of after) {
    const isSame = character === before[at];
    const isAdded = !isSame && /\s/.test(character);
    if (!isSame && !isAdded) add('del', before[at] ?? '');
    add(isSame ? 'span' : 'ins', character);
    if (!isAdded) at += 1;
  }
  add('del', before.slice(at).join(''));
  return parts;
}

/** Marks the hex digits that differ from the expected ones. */
function marked(value: string, expected = value): ComponentChildren {
  return [...value].map((digit, index) =>
    digit === expected[index] ? digit : <mark key={index}>{digit}</mark>,
  );
}

function Step({ title, result, children }: RenderableProps<{ title: string; result: ComponentChildren }>) {
  return (
    <li>
      <h3>{title}</h3>
      <p class="muted">{children}</p>
      {result !== undefined && <code class="code-block digest wrap">{result}</code>}
    </li>
  );
}
