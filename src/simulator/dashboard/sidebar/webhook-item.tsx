// One webhook: its address, its events, and what can be done with it.
import type { RefObject } from 'preact';
import { useState } from 'preact/hooks';
import { api } from '../live/api.js';
import type { Webhook } from '../live/wire.js';
import { shortUrl } from '../parts/format.js';
import { useAction } from '../parts/notice.js';
import { useFocusBack } from '../parts/use-focus-back.js';
import { DeleteQuestion } from './delete-question.js';
import { WebhookForm } from './webhook-form.js';

interface WebhookItemProps {
  readonly webhook: Webhook;
  readonly eventNames: readonly string[];
}

type Mode = 'shown' | 'edited' | 'asked';

export function WebhookItem({ webhook, eventNames }: WebhookItemProps) {
  const [mode, setMode] = useState<Mode>('shown');
  const { id, url, events, paused } = webhook;
  const show = () => setMode('shown');
  const editButton = useFocusBack(mode !== 'shown');
  if (mode === 'edited') {
    const save = (fields: object) => api.updateWebhook(id, fields);
    return (
      <li class="webhook">
        <WebhookForm webhook={webhook} eventNames={eventNames} save={save} verb="Save" close={show} />
      </li>
    );
  }
  return (
    <li class="webhook">
      <p class="webhook-url">
        <span class="mono wrap">{shortUrl(url)}</span>
        {paused && <span class="tag">paused</span>}
      </p>
      <div class="webhook-line">
        <p class="webhook-events wrap">{events.includes('*') ? 'All events' : events.join(', ')}</p>
        {mode === 'asked' ? (
          <DeleteQuestion webhook={webhook} keep={show} />
        ) : (
          <Actions webhook={webhook} go={setMode} editButton={editButton} />
        )}
      </div>
    </li>
  );
}

interface ActionsProps {
  readonly webhook: Webhook;
  readonly go: (mode: Mode) => void;
  readonly editButton: RefObject<HTMLButtonElement | null>;
}

function Actions({ webhook, go, editButton }: ActionsProps) {
  const { id, url, paused } = webhook;
  const pause = useAction(() => api.updateWebhook(id, { paused: !paused }));
  const actions = [
    ['Edit', () => go('edited')],
    [paused ? 'Resume' : 'Pause', () => pause()],
    ['Delete', () => go('asked')],
  ] as const;
  return (
    <p class="webhook-actions">
      {actions.map(([verb, act]) => (
        <button
          key={verb}
          type="button"
          ref={verb === 'Edit' ? editButton : null}
          class="button small quiet"
          aria-label={`${verb} ${url}`}
          onClick={act}
        >
          {verb}
        </button>
      ))}
    </p>
  );
}
