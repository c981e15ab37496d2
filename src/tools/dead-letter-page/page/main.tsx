// Starts the page of dead letters: loads what its URL asks for, and renders it.
import { render } from 'preact';
import { ClockProvider } from '../../pages/components/clock.js';
import { Page } from '../../pages/components/page-frame.js';
import { useRoute } from '../../pages/components/use-route.js';
import { Layout } from './layout.js';
import { routing } from './route.js';
import { SHORTCUTS } from './shortcuts.js';
import { useLetters } from './use-letters.js';
import '../../pages/styles/base.css';
import '../../pages/styles/components.css';
import '../../pages/styles/layout.css';
import './letters.css';

function App() {
  const [route, navigate] = useRoute(routing);
  const letters = useLetters(route);
  const user = letters.loaded?.summary.user;
  const status = user !== undefined && (
    <p class="muted wrap">
      Signed in as <b>{user}</b>
    </p>
  );
  return (
    <ClockProvider>
      <Page title="Dead letters" lists="dead letters" status={status} shortcuts={SHORTCUTS}>
        <Layout letters={letters} route={route} navigate={navigate} />
      </Page>
    </ClockProvider>
  );
}

render(<App />, document.body);
