// The notice at the foot of the page: what was refused, until it is put away.
import { Icon } from './icon.js';

interface NoticeBarProps {
  readonly text: string | undefined;
  readonly dismiss: (text: undefined) => void;
}

export function NoticeBar({ text, dismiss }: NoticeBarProps) {
  return (
    <div role="alert">
      {text && (
        <div class="notice">
          <p>{text}</p>
          <button
            type="button"
            class="button quiet square"
            aria-label="Dismiss"
            onClick={() => dismiss(undefined)}
          >
            <Icon name="close" />
          </button>
        </div>
      )}
    </div>
  );
}
