// The head of the page: what this is, whether it is live, and the few things that concern the whole page.
import type { State } from './live/state.js';
import { Icon } from './parts/icon.js';
import { pure } from './parts/pure.js';
import { useTheme } from './parts/theme.js';

interface HeaderProps {
  readonly link: State['link'];
  readonly stateError: string | null;
  readonly show: (dialog: 'about' | 'shortcuts') => void;
}

const LINK_WORDS = {
  connecting: 'Connecting …',
  live: 'Live',
  lost: 'Connection lost, trying again …',
} as const;

export const Header = pure(({ link, stateError, show }: HeaderProps) => {
  const [theme, nextTheme] = useTheme();
  return (
    <header class="page-head">
      <h1 class="brand">
        <svg class="brand-mark" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
          <rect width="32" height="32" rx="8" />
          <path d="M8 16h10m-4-5 5 5-5 5M23 9v14" />
        </svg>
        Webhook simulator
      </h1>
      <p class={`link-state link-${link}`} role="status">
        {LINK_WORDS[link]}
      </p>
      {stateError && (
        <p class="problem" role="alert">
          The state file could not be written: {stateError}
        </p>
      )}
      <div class="head-actions">
        <button type="button" class="button quiet" onClick={nextTheme}>
          <Icon name="theme" />
          Theme: {theme}
        </button>
        <button type="button" class="button quiet" onClick={() => show('shortcuts')}>
          Keys <kbd>?</kbd>
        </button>
        <button type="button" class="button quiet" onClick={() => show('about')}>
          About
        </button>
      </div>
    </header>
  );
});
