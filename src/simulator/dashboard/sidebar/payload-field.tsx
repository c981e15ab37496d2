// The payload that will be sent, editable, with a check on every key.
import { Field } from '../parts/field.js';
import { byteLength, formatBytes } from '../parts/format.js';
import { Icon } from '../parts/icon.js';
import type { PayloadCheck } from './check-payload.js';

interface PayloadFieldProps {
  readonly text: string;
  readonly check: PayloadCheck;
  readonly errors: readonly string[] | undefined;
  /** Undefined when the text is the sample already, or there is none. */
  readonly restore: (() => void) | undefined;
  readonly change: (text: string) => void;
}

export function PayloadField({ text, check, errors, restore, change }: PayloadFieldProps) {
  return (
    <div class="payload-field">
      <Field label="Payload" hint={<Verdict text={text} check={check} />} errors={errors}>
        {(control) => (
          <textarea
            {...control}
            class="code-input"
            rows={12}
            spellcheck={false}
            autocomplete="off"
            aria-invalid={!check.fine}
            value={text}
            onInput={(event) => change(event.currentTarget.value)}
          />
        )}
      </Field>
      {restore && (
        <button type="button" class="link" onClick={restore}>
          Back to the sample
        </button>
      )}
    </div>
  );
}

function Verdict({ text, check }: { text: string; check: PayloadCheck }) {
  if (!check.fine) {
    return (
      <span class="verdict tone-failed" role="status">
        <Icon name="failed" />
        {check.problem}
      </span>
    );
  }
  return (
    <span class="verdict" role="status">
      <span class="tone-delivered">
        <Icon name="delivered" />
      </span>
      Valid JSON, {formatBytes(byteLength(text))}
      {check.remark && `. Unlike the sample: ${check.remark}`}
    </span>
  );
}
