// The About dialog: what the service documents, and what is a choice of the simulator.

import { Dialog } from '../pages/components/dialog.js';
import type { Settings } from './api.js';
import { documentedRows } from './documented.js';

export function AboutDialog({ settings, closed }: { settings: Settings; closed: () => void }) {
  return (
    <Dialog title="About this simulator" closed={closed}>
      <p class="muted">Where the documentation says nothing, the choice is ours. Do not rely on it.</p>
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
        {settings.state ? 'Everything is saved in the state file.' : 'Everything is lost when it stops.'} It
        connects only to your endpoints. <a href="/_sim/openapi.json">OpenAPI document</a>
      </p>
    </Dialog>
  );
}
