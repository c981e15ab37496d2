// The payload to trigger: whether it is valid, and a dialog that edits it and checks it with each key.

import { Button } from '../components/button.js';
import { DialogButton } from '../components/dialog.js';
import { Field } from '../components/form.js';
import { byteLength, formatBytes } from '../components/format.js';
import { Icon } from '../components/icon.js';
import type { PayloadCheck } from './check-payload.js';

interface PayloadEditorProps {
  readonly text: string;
  readonly check: PayloadCheck;
  /** Undefined is the sample of the event. */
  readonly edit: (text: string | undefined) => void;
}

export function PayloadEditor({ text, check, edit }: PayloadEditorProps) {
  return (
    <div class="field stack">
      <span class="label">Payload</span>
      <CheckResult text={text} check={check} />
      <DialogButton title="Edit payload" text="Edit payload">
        {(close) => (
          <>
            <Field
              label="Payload"
              name="payload"
              class="code-input mono"
              rows={24}
              autofocus
              invalid={!check.valid}
              hint={<CheckResult text={text} check={check} />}
              value={text}
              change={edit}
            />
            <p class="cluster">
              <Button look="primary" act={close}>
                Done
              </Button>
              <Button look="quiet" act={() => edit(undefined)}>
                Reset to sample
              </Button>
            </p>
          </>
        )}
      </DialogButton>
    </div>
  );
}

function CheckResult({ text, check }: Pick<PayloadEditorProps, 'text' | 'check'>) {
  const tone = check.valid ? 'delivered' : 'failed';
  return (
    <span class={`payload-check note tone-${tone}`} role="status">
      <Icon name={tone} />
      <span class="wrap">
        {check.valid ? `Valid JSON, ${formatBytes(byteLength(text))}` : check.problem}
        {check.valid && check.difference && `. Differs from the sample: ${check.difference}`}
      </span>
    </span>
  );
}
