// What is documented about the service, and what is this simulator's own choice.
import type { Settings } from '../live/wire.js';
import { Dialog } from '../parts/dialog.js';
import { documentedRows } from './documented.js';

export function AboutDialog({ settings, close }: { settings: Settings; close: () => void }) {
  return (
    <Dialog title="About this simulator" close={close}>
      <p class="lead">
        It sends your endpoint what the service documents. Where the documentation is silent, it had to
        choose; the right column says what. Do not rely on that column in production.
      </p>
      <table class="about">
        <thead>
          <tr>
            <th scope="col">Subject</th>
            <th scope="col">Documented</th>
            <th scope="col">Our choice</th>
          </tr>
        </thead>
        <tbody>
          {documentedRows(settings).map(({ subject, documented, ours }) => (
            <tr key={subject}>
              <th scope="row">{subject}</th>
              <td>{documented}</td>
              <td>{ours}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="note">
        {settings.state
          ? 'Everything is kept in the state file.'
          : 'Nothing is kept when the simulator stops.'}{' '}
        It talks to your endpoints and to nobody else. The endpoints it serves:{' '}
        <a href="/_sim/openapi.json">OpenAPI document</a>.
      </p>
    </Dialog>
  );
}
