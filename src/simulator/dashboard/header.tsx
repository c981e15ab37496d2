// The header of the page: its name, the state of the connection, and the theme and dialogs.
import { memo } from 'preact/compat';
import { useLayoutEffect, useState } from 'preact/hooks';
import type { State } from './api/state.js';
import { Button } from './components/button.js';
import { Icon } from './components/icon.js';
import { loadSetting, saveSetting } from './components/saved-setting.js';

interface HeaderProps {
  readonly connection: State['connection'];
  readonly stateError: string | null;
  readonly show: (dialog: 'about' | 'shortcuts') => void;
}

const CONNECTION_LABELS = {
  connecting: 'Connecting…',
  live: 'Live',
  lost: 'Connection lost. Reconnecting…',
} as const;

export const Header = memo(({ connection, stateError, show }: HeaderProps) => {
  const [theme, nextTheme] = useTheme();
  return (
    <header class="page-head cluster">
      <h1 class="cluster">
        <svg class="logo" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
          <rect width="32" height="32" rx="8" fill="currentColor" />
          <path
            d="M8 16h10m-4-5 5 5-5 5M23 9v14"
            fill="none"
            stroke="#fff"
            stroke-width="2.5"
            stroke-linecap="round"
            stroke-linejoin="round"
          />
        </svg>
        Webhook simulator
      </h1>
      <ConnectionStatus connection={connection} />
      {stateError && (
        <p class="problem" role="alert">
          The state file cannot be written: {stateError}
        </p>
      )}
      <div class="toolbar">
        <Button look="quiet" icon="theme" act={nextTheme}>
          Theme: {theme}
        </Button>
        <Button look="quiet" act={() => show('shortcuts')}>
          Shortcuts <kbd>?</kbd>
        </Button>
        <Button look="quiet" act={() => show('about')}>
          About
        </Button>
      </div>
    </header>
  );
});

function ConnectionStatus({ connection }: Pick<HeaderProps, 'connection'>) {
  const live = connection === 'live';
  return (
    <p class={connection === 'lost' ? 'cluster note problem' : 'cluster note'} role="status">
      <span class={live ? 'tone-delivered' : ''}>
        <Icon name={live ? 'dot' : 'ring'} />
      </span>
      {CONNECTION_LABELS[connection]}
    </p>
  );
}

type Theme = 'auto' | 'light' | 'dark';

const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];

/** The theme, which is saved, and a function that goes to the next one. */
function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(
    () => THEMES.find((name) => name === loadSetting('theme')) ?? 'auto',
  );
  // Before the next frame, so that no other theme flashes up.
  useLayoutEffect(() => {
    document.documentElement.style.colorScheme = theme === 'auto' ? '' : theme;
    saveSetting('theme', theme);
  }, [theme]);
  const next = () => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto');
  return [theme, next];
}
