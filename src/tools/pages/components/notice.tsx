// Why the last action failed, until it is dismissed.
import { CloseButton } from './button.js';

export function Notice({ text, dismiss }: { text: string | undefined; dismiss: () => void }) {
  return (
    <div role="alert">
      {text && (
        <div class="notice callout tone-failed">
          <p>{text}</p>
          <CloseButton label="Dismiss" close={dismiss} />
        </div>
      )}
    </div>
  );
}
