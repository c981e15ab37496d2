// How the endpoint answered, or why it did not.
import type { Attempt } from '../live/wire.js';
import { BodyView } from './body-view.js';
import { HeaderTable } from './header-table.js';

export function ResponseView({ attempt: { response, error } }: { attempt: Attempt }) {
  if (!response) {
    return (
      <p class="request-line wrap">
        No answer came. <strong class="mono">{error?.code}</strong> {error?.message}
      </p>
    );
  }
  return (
    <>
      <p class="request-line mono">
        <strong>{response.status}</strong>
      </p>
      <HeaderTable label="Response headers" headers={response.headers} />
      <BodyView label="Response body" body={response.body} />
      {response.body_truncated && (
        <p class="note">
          The body is not complete: the simulator keeps the first 64 KiB, and the connection may have ended
          earlier.
        </p>
      )}
    </>
  );
}
