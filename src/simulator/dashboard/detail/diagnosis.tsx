// Why an attempt failed, and the next step.
import type { Attempt } from '../live/wire.js';
import { Icon } from '../parts/icon.js';

export function Diagnosis({ attempt, text }: { attempt: Attempt; text: string }) {
  const end = text.search(/[.!?] /) + 1;
  const verdict = end > 0 ? text.slice(0, end) : text;
  return (
    // About an attempt that succeeded there is something to say only when it should not have.
    <div class={attempt.succeeded ? 'callout callout-fault' : 'callout callout-failed'}>
      <Icon name={attempt.succeeded ? 'fault' : 'failed'} />
      <p>
        <span class="visually-hidden">Diagnosis of attempt {attempt.number}: </span>
        <strong>{verdict}</strong>
        {text.slice(verdict.length)}
      </p>
    </div>
  );
}
