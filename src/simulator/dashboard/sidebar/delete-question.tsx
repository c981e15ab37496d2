// Asks before a webhook is deleted, because what waits for it is cancelled.
import { useEffect, useRef } from 'preact/hooks';
import { api } from '../live/api.js';
import type { Webhook } from '../live/wire.js';
import { useAction } from '../parts/notice.js';
import { focusPanel } from './focus.js';

export function DeleteQuestion({ webhook, keep }: { webhook: Webhook; keep: () => void }) {
  const { id, url } = webhook;
  const remove = useAction(async () => {
    await api.deleteWebhook(id);
    focusPanel('webhooks');
  });
  const keepButton = useRef<HTMLButtonElement>(null);
  useEffect(() => keepButton.current?.focus(), []);
  return (
    <p class="webhook-actions">
      <span>Delete it, with what waits?</span>
      <button
        type="button"
        class="button small danger"
        aria-label={`Delete ${url} for good`}
        onClick={() => remove()}
      >
        Delete
      </button>
      <button type="button" class="button small quiet" ref={keepButton} onClick={keep}>
        Keep
      </button>
    </p>
  );
}
