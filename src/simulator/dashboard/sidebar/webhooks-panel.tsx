// The registered webhooks, what can be done with each, and the form that registers another.
import { createContext, type RefObject } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { api, type WebhookFields } from '../api/api.js';
import type { Row, Webhook } from '../api/api-types.js';
import { focusPanel, useFocusReturn } from '../components/focus.js';
import { shortUrl } from '../components/format.js';
import { memo } from '../components/memo.js';
import { useAction } from '../components/notice.js';
import { AddButton, Panel } from './panel.js';
import { WebhookForm } from './webhook-form.js';

/** The deliveries, for the confirmation only: the panel is not rendered again with each of them. */
export const RowsContext = createContext<readonly Row[]>([]);

interface WebhooksPanelProps {
  readonly webhooks: readonly Webhook[];
  readonly eventNames: readonly string[];
}

export const WebhooksPanel = memo(({ webhooks, eventNames }: WebhooksPanelProps) => {
  const { length } = webhooks;
  return (
    <Panel title="Webhooks" id="webhooks" count={length}>
      {length > 0 && (
        <ul class="stack">
          {webhooks.map((webhook) => (
            <WebhookItem key={webhook.id} webhook={webhook} eventNames={eventNames} />
          ))}
        </ul>
      )}
      <AddButton
        label="Register webhook"
        emptyText={length > 0 ? undefined : 'No webhooks yet. Register one to receive events.'}
        form={(close) => (
          <WebhookForm eventNames={eventNames} save={api.createWebhook} verb="Register" close={close} />
        )}
      />
    </Panel>
  );
});

type Mode = 'shown' | 'editing' | 'deleting';

interface WebhookItemProps {
  readonly webhook: Webhook;
  readonly eventNames: readonly string[];
}

function WebhookItem({ webhook, eventNames }: WebhookItemProps) {
  const [mode, setMode] = useState<Mode>('shown');
  const { id, url, events, paused } = webhook;
  const show = () => setMode('shown');
  const editButton = useFocusReturn(mode !== 'shown');
  if (mode === 'editing') {
    const save = (fields: WebhookFields) => api.updateWebhook(id, fields);
    return (
      <li class="webhook card cluster">
        <WebhookForm webhook={webhook} eventNames={eventNames} save={save} verb="Save" close={show} />
      </li>
    );
  }
  return (
    <li class="webhook card cluster">
      <p class="spread">
        <strong class="mono wrap">{shortUrl(url)}</strong>
        {paused && <span class="tag">paused</span>}
      </p>
      <p class="note wrap">{events.includes('*') ? 'All events' : events.join(', ')}</p>
      {mode === 'deleting' ? (
        <DeleteConfirmation webhook={webhook} keep={show} />
      ) : (
        <WebhookActions webhook={webhook} go={setMode} editButton={editButton} />
      )}
    </li>
  );
}

interface WebhookActionsProps {
  readonly webhook: Webhook;
  readonly go: (mode: Mode) => void;
  readonly editButton: RefObject<HTMLButtonElement | null>;
}

function WebhookActions({ webhook, go, editButton }: WebhookActionsProps) {
  const { id, url, paused } = webhook;
  const pause = useAction(() => api.updateWebhook(id, { paused: !paused }));
  const actions = [
    ['Edit', () => go('editing')],
    [paused ? 'Resume' : 'Pause', () => pause()],
    ['Delete', () => go('deleting')],
  ] as const;
  return (
    <p class="toolbar">
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

function DeleteConfirmation({ webhook, keep }: { webhook: Webhook; keep: () => void }) {
  const { id, url } = webhook;
  const retries = useContext(RowsContext).filter(
    (row) => row.webhook_id === id && row.status === 'retrying',
  ).length;
  const remove = useAction(async () => {
    await api.deleteWebhook(id);
    focusPanel('webhooks');
  });
  const keepButton = useRef<HTMLButtonElement>(null);
  useEffect(() => keepButton.current?.focus(), []);
  return (
    <p class="cluster">
      <span>{deleteQuestion(retries)}</span>
      <button
        type="button"
        class="button small problem"
        aria-label={`Delete ${url} permanently`}
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

function deleteQuestion(retries: number): string {
  if (retries === 0) return 'Delete webhook?';
  return `Delete webhook and cancel ${retries} pending ${retries === 1 ? 'retry' : 'retries'}?`;
}
