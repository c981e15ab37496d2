// The header of the detail: which event it is, why it was kept, and what can be done with it.
import { useContext } from 'preact/hooks';
import { Button, CloseButton } from '../../pages/components/button.js';
import { CopyButton } from '../../pages/components/copy-button.js';
import { showInvisible } from '../../pages/components/format.js';
import type { Letter } from './api.js';
import { nameOf } from './count-text.js';
import { Reason } from './reason.js';
import { WorkContext } from './work.js';

interface DetailHeaderProps {
  readonly id: string;
  readonly letter: Letter | undefined;
  readonly close: () => void;
}

export function DetailHeader({ id, letter, close }: DetailHeaderProps) {
  return (
    <header class="stack">
      <div class="spread">
        <h2 class="wrap" id="detail-title" tabIndex={-1}>
          {letter ? showInvisible(letter.eventName) : 'Dead letter'}
        </h2>
        <CloseButton label="Close dead letter" close={close} />
      </div>
      {letter && (
        <>
          <p class="cluster">
            <Reason reason={letter.reason} />
            {letter.sandbox && <span class="tag">sandbox</span>}
          </p>
          <p class="cluster">
            <span class="muted">Event</span>
            <span class="mono wrap">{showInvisible(letter.eventId)}</span>
            <CopyButton label="Copy" name="Copy event ID" text={letter.eventId} look="quiet small" />
          </p>
          {letter.keyId !== undefined && (
            <p class="cluster">
              <span class="muted">Key ID</span>
              <span class="mono wrap">{letter.keyId}</span>
              <CopyButton label="Copy" name="Copy key ID" text={letter.keyId} look="quiet small" />
            </p>
          )}
          <LetterActions id={id} what={nameOf(letter)} />
        </>
      )}
    </header>
  );
}

function LetterActions({ id, what }: { id: string; what: string }) {
  const begin = useContext(WorkContext);
  return (
    <p class="cluster">
      <Button look="primary" act={() => begin({ kind: 'replay', target: { id }, what })}>
        Replay
      </Button>
      <Button act={() => begin({ kind: 'discard', target: { id }, what })}>Discard</Button>
    </p>
  );
}
