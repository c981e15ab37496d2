// What was sent and what was answered. Captured text is always shown as text.
import { useMemo, useState } from 'preact/hooks';
import type { Attempt, Delivery, HeaderPair } from '../api/api.js';
import { Button } from '../components/button.js';
import { CopyButton } from '../components/copy-button.js';
import { byteLength, formatBytes, showInvisible } from '../components/format.js';
import { ResponseStatus } from '../components/status.js';

export function RequestView({ attempt, delivery }: { attempt: Attempt; delivery: Delivery }) {
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

export function ResponseView({ attempt: { response, error, outcome } }: { attempt: Attempt }) {
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

/** The headers in the order in which they were sent. */
function HeaderTable({ label, headers }: { label: string; headers: readonly HeaderPair[] }) {
  return (
    <table class="headers mono" aria-label={label}>
      <tbody>
        {headers.map(([name, value], index) => (
          <tr key={index}>
            <th class="muted" scope="row">
              {showInvisible(name)}
            </th>
            <td>{showInvisible(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface BodyViewProps {
  readonly label: string;
  readonly body: string;
  /** What the button says that shows the text without added line breaks. */
  readonly rawLabel: string;
}

/** JSON is shown with line breaks, until the button shows its own. */
function BodyView({ label, body, rawLabel }: BodyViewProps) {
  const formatted = useMemo(() => formatJson(body), [body]);
  const [raw, setRaw] = useState(false);
  if (body === '') return <p class="note">{label}: empty</p>;
  return (
    <figure>
      <figcaption class="note cluster">
        <b>{label}</b> {formatBytes(byteLength(body))}
        <span class="toolbar">
          {formatted !== undefined && formatted !== body && (
            <Button look="quiet small" aria-pressed={raw} act={() => setRaw(!raw)}>
              {rawLabel}
            </Button>
          )}
          <CopyButton label="Copy" text={body} look="quiet small" />
        </span>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <section class="code-block" tabIndex={0} aria-label={label}>
        <pre class="wrap">{showInvisible(raw ? body : (formatted ?? body))}</pre>
      </section>
    </figure>
  );
}

function formatJson(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? JSON.stringify(value, null, 2) : undefined;
  } catch {
    return undefined;
  }
}
