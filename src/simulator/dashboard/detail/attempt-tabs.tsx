// One attempt in three tabs: the request, the response, and how the signature was computed.
import type { Attempt, Delivery, HeaderPair, Settings } from '../api/api-types.js';
import { showInvisible } from '../components/format.js';
import { Tabs } from '../components/tabs.js';
import { BodyView } from './body-view.js';
import { SignatureView } from './signature-view.js';

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
        { name: 'Request', content: () => <RequestView delivery={delivery} attempt={attempt} /> },
        { name: 'Response', content: () => <ResponseView attempt={attempt} /> },
        {
          name: 'Signature',
          content: () => <SignatureView attempt={attempt} sandbox={sandbox} settings={settings} />,
        },
      ]}
    />
  );
}

function RequestView({ attempt, delivery }: { attempt: Attempt; delivery: Delivery }) {
  const { method, url, headers, body } = attempt.request;
  return (
    <>
      <p class="mono wrap">
        <strong>{method}</strong> {url}
      </p>
      <HeaderTable label="Request headers" headers={headers} />
      <BodyView label="Request body" body={body} />
      <dl class="ids">
        <dt class="note">Event</dt>
        <dd class="mono wrap">{delivery.event_id}</dd>
        <dt class="note">Delivery</dt>
        <dd class="mono wrap">{delivery.id}</dd>
        <dt class="note">Webhook</dt>
        <dd class="mono wrap">{delivery.webhook_id}</dd>
      </dl>
    </>
  );
}

function ResponseView({ attempt: { response, error } }: { attempt: Attempt }) {
  if (!response) {
    return (
      <p class="wrap">
        No response. <strong class="mono">{error?.code}</strong> {error?.message}
      </p>
    );
  }
  return (
    <>
      <p class="mono">
        <strong>{response.status}</strong>
      </p>
      <HeaderTable label="Response headers" headers={response.headers} />
      <BodyView label="Response body" body={response.body} />
      {response.body_truncated && (
        <p class="note">
          The body is incomplete. The simulator keeps the first 64 KiB, and the connection may have closed
          earlier.
        </p>
      )}
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
