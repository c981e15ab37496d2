// The header of the page: its name, the state of the connection, and the theme and dialogs.
import { memo } from 'preact/compat';
import { Button } from '../pages/components/button.js';
import { Icon } from '../pages/components/icon.js';
import { ThemeButton } from '../pages/components/page-frame.js';
import type { State } from './state.js';

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
        <ThemeButton />
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
