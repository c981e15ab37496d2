// The payload to send, checked with each key.
import { Field } from '../components/field.js';
import { byteLength, formatBytes } from '../components/format.js';
import { Icon } from '../components/icon.js';
import type { PayloadCheck } from './check-payload.js';

interface PayloadFieldProps {
  readonly text: string;
  readonly check: PayloadCheck;
  readonly errors: readonly string[] | undefined;
  /** Undefined while the text is the sample. */
  readonly reset: (() => void) | undefined;
  readonly change: (text: string) => void;
}

export function PayloadField({ text, check, errors, reset, change }: PayloadFieldProps) {
  return (
    <div>
      <Field label="Payload" hint={<CheckResult text={text} check={check} />} errors={errors}>
        {(control) => (
          <textarea
            {...control}
            class="code-input mono"
            rows={12}
            spellcheck={false}
            autocomplete="off"
            aria-invalid={!check.valid}
            value={text}
            onInput={(event) => change(event.currentTarget.value)}
          />
        )}
      </Field>
      {reset && (
        <button type="button" class="link" onClick={reset}>
          Reset to sample
        </button>
      )}
    </div>
  );
}

function CheckResult({ text, check }: { text: string; check: PayloadCheck }) {
  return (
    <span
      class={check.valid ? 'payload-check tone-delivered' : 'payload-check tone-failed problem'}
      role="status"
    >
      <Icon name={check.valid ? 'delivered' : 'failed'} />
      {check.valid ? `Valid JSON, ${formatBytes(byteLength(text))}` : check.problem}
      {check.valid && check.difference && `. Differs from the sample: ${check.difference}`}
    </span>
  );
}
