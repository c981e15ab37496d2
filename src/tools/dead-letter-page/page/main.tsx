// Starts the page of dead letters: loads what its URL asks for, and renders it.
import { render } from 'preact';
import { useState } from 'preact/hooks';
import { Announcer } from '../../pages/components/announcer.js';
import { Button, NoticeContext } from '../../pages/components/button.js';
import { Notice, ShortcutsDialog, ThemeButton } from '../../pages/components/page-frame.js';
import { useRoute } from '../../pages/components/use-route.js';
import { NowProvider } from './age.js';
import { Layout } from './layout.js';
import { routing } from './route.js';
import { SHORTCUTS, useShortcuts } from './shortcuts.js';
import { useLetters } from './use-letters.js';
import '../../pages/styles/tokens.css';
import '../../pages/styles/base.css';
import '../../pages/styles/components.css';
import '../../pages/styles/layout.css';
import '../../pages/styles/list.css';
import './letters.css';

function App() {
  const [route, navigate] = useRoute(routing);
  const letters = useLetters(route);
  const [shortcuts, showShortcuts] = useState(false);
  const [notice, setNotice] = useState<string>();
  useShortcuts({ '?': () => showShortcuts(true) });
  const user = letters.loaded?.summary.user;
  return (
    <NowProvider>
      <Announcer>
        <NoticeContext.Provider value={setNotice}>
          <a class="skip-link button" href="#main">
            Skip to dead letters
          </a>
          <Header user={user} showShortcuts={() => showShortcuts(true)} />
          <Notice text={notice} dismiss={() => setNotice(undefined)} />
          <Layout letters={letters} route={route} navigate={navigate} />
          {shortcuts && <ShortcutsDialog shortcuts={SHORTCUTS} closed={() => showShortcuts(false)} />}
        </NoticeContext.Provider>
      </Announcer>
    </NowProvider>
  );
}

function Header({ user, showShortcuts }: { user: string | undefined; showShortcuts: () => void }) {
  return (
    <header class="page-head cluster">
      <h1>Dead letters</h1>
      {user !== undefined && (
        <p class="muted wrap">
          Signed in as <b>{user}</b>
        </p>
      )}
      <div class="toolbar">
        <ThemeButton />
        <Button look="quiet" act={showShortcuts}>
          Shortcuts <kbd>?</kbd>
        </Button>
      </div>
    </header>
  );
}

render(<App />, document.body);
