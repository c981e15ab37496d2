// Asks before a webhook is deleted, because what waits for it is cancelled.
import { useEffect, useRef } from 'preact/hooks';
import { api } from '../live/api.js';
import type { Webhook } from '../live/wire.js';
import { useAction } from '../parts/notice.js';

export function DeleteQuestion({ webhook, keep }: { webhook: Webhook; keep: () => void }) {
  const { id, url } = webhook;
  const remove = useAction(() => api.deleteWebhook(id));
  const keepButton = useRef<HTMLButtonElement>(null);
  useEffect(() => keepButton.current?.focus(), []);
  return (
    <p class="webhook-actions">
      <span>Delete it, with what waits?</span>
      <button
        type="button"
        class="button small danger"
        aria-label={`Delete ${url} for good`}
        disabled={remove.busy}
        onClick={() => remove.run()}
      >
        Delete
      </button>
      <button type="button" class="button small quiet" ref={keepButton} onClick={keep}>
        Keep
      </button>
    </p>
  );
}
