// What was sent and what was answered. Captured text is always shown as text.
import { BodyView, HeaderTable } from '../pages/components/code-view.js';
import type { Attempt, Delivery } from './api.js';
import { ResponseStatus } from './status.js';

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
