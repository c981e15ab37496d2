// The About dialog: what the service documents, and what is a choice of the simulator.
import type { Settings } from '../api/api.js';
import { Dialog } from '../components/dialog.js';
import { documentedRows } from './documented.js';

export function AboutDialog({ settings, closed }: { settings: Settings; closed: () => void }) {
  return (
    <Dialog title="About this simulator" closed={closed}>
      <p class="muted">
        The simulator sends what the service documents. Where the documentation says nothing, it makes a
        choice of its own. Do not rely on these choices in production.
      </p>
      <table class="about">
        <thead>
          <tr class="note">
            <th scope="col">Subject</th>
            <th scope="col">Documented</th>
            <th scope="col">Our choice</th>
          </tr>
        </thead>
        <tbody>
          {documentedRows(settings).map(({ subject, documented, ours }) => (
            <tr key={subject}>
              <th scope="row">
                <b>{subject}</b>
              </th>
              <td>{documented}</td>
              <td>{ours}</td>
            </tr>
          ))}
        </tbody>
      </table>
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
