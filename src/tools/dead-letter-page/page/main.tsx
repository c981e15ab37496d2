// Starts the dead-letter page: loads the letters that its URL asks for, and renders them.
import { render } from 'preact';
import { useState } from 'preact/hooks';
import { ClockProvider } from '../../pages/components/clock.js';
import { Page } from '../../pages/components/page-frame.js';
import { useRoute } from '../../pages/components/use-route.js';
import { Layout } from './layout.js';
import { LettersContext, SHORTCUTS, type Work } from './letters-context.js';
import { routing } from './route.js';
import { useLetters } from './use-letters.js';
import '../../pages/styles/base.css';
import '../../pages/styles/components.css';
import '../../pages/styles/layout.css';
import './letters.css';

function App() {
  const [route, navigate] = useRoute(routing);
  const letters = useLetters(route);
  const [work, setWork] = useState<Work>();
  const user = letters.loaded?.summary.user;
  const status = user !== undefined && (
    <p class="muted wrap">
      Signed in as <b>{user}</b>
    </p>
  );
  return (
    <ClockProvider>
      <LettersContext.Provider value={{ ...letters, route, navigate, work, setWork }}>
        <Page title="Dead letters" lists="dead letters" status={status} shortcuts={SHORTCUTS}>
          <Layout />
        </Page>
      </LettersContext.Provider>
    </ClockProvider>
  );
}

render(<App />, document.body);
