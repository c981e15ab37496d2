// The button with a cross that closes a dialog, a notice or the detail.
import { Icon } from './icon.js';

export function CloseButton({ label, close }: { label: string; close: () => void }) {
  return (
    <button type="button" class="button quiet square" aria-label={label} onClick={close}>
      <Icon name="close" />
    </button>
  );
}
