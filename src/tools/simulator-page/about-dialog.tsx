// The About dialog: what the service documents, and what is a choice of the simulator.

import { Dialog } from '../pages/components/dialog.js';
import type { Settings } from './api.js';
import { documentedRows } from './documented.js';

export function AboutDialog({ settings, closed }: { settings: Settings; closed: () => void }) {
  return (
    <Dialog title="About this simulator" closed={closed}>
      <p class="muted">
        The simulator sends what the service documents. Where the documentation says nothing, it makes a
        choice of its own. Do not rely on these choices in production.
      </p>
      {documentedRows(settings).map(({ subject, documented, ours }) => (
        <section key={subject}>
          <h3>{subject}</h3>
          <p>
            <span class="muted">Documented:</span> {documented}
          </p>
          <p>
            <span class="muted">Our choice:</span> {ours}
          </p>
        </section>
      ))}
      <p class="note">
        {settings.state
          ? 'The state is saved in the state file.'
          : 'The state is lost when the simulator stops.'}{' '}
        The simulator connects only to your endpoints. Its own API:{' '}
        <a href="/_sim/openapi.json">OpenAPI document</a>.
      </p>
    </Dialog>
  );
}
