// What was sent, byte for byte.
import type { Attempt, Delivery } from '../live/wire.js';
import { BodyView } from './body-view.js';
import { HeaderTable } from './header-table.js';

export function RequestView({ attempt, delivery }: { attempt: Attempt; delivery: Delivery }) {
  const { method, url, headers, body } = attempt.request;
  return (
    <>
      <p class="request-line mono wrap">
        <strong>{method}</strong> {url}
      </p>
      <HeaderTable label="Request headers" headers={headers} />
      <BodyView label="Request body" body={body} />
      <dl class="ids">
        <dt>Event</dt>
        <dd class="mono wrap">{delivery.event_id}</dd>
        <dt>Delivery</dt>
        <dd class="mono wrap">{delivery.id}</dd>
        <dt>Webhook</dt>
        <dd class="mono wrap">{delivery.webhook_id}</dd>
      </dl>
    </>
  );
}
