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
      <h1>Webhook simulator</h1>
      <p class={connection === 'lost' ? 'cluster problem' : 'cluster muted'} role="status">
        <Icon name={connection === 'live' ? 'delivered' : 'pending'} />
        {CONNECTION_LABELS[connection]}
      </p>
      {stateError && (
        <p class="problem" role="alert">
          The state file cannot be written: {stateError}
        </p>
      )}
      <div class="toolbar">
        <Button look="quiet" act={nextTheme}>
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
