// The keyboard shortcuts, and the switch that turns them off.
import { useState } from 'preact/hooks';
import { Dialog } from '../components/dialog.js';
import { enableShortcuts, shortcutsEnabled } from '../components/shortcuts.js';

const KEYS: readonly [key: string, action: string][] = [
  ['j', 'Next delivery'],
  ['k', 'Previous delivery'],
  ['Enter', 'Open the delivery'],
  ['Esc', 'Close the delivery'],
  ['r', 'Retry now, or resend'],
  ['n', 'Trigger an event'],
  ['/', 'Search'],
  ['p', 'Pause or resume the list'],
  ['?', 'Show these shortcuts'],
];

export function ShortcutsDialog({ close }: { close: () => void }) {
  const [enabled, setEnabled] = useState(shortcutsEnabled);
  return (
    <Dialog title="Keyboard shortcuts" close={close}>
      <table class="keys">
        <tbody>
          {KEYS.map(([key, action]) => (
            <tr key={key}>
              <th scope="row">
                <kbd>{key}</kbd>
              </th>
              <td>{action}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <label class="cluster">
        <input
          type="checkbox"
          checked={enabled}
          onChange={() => {
            enableShortcuts(!enabled);
            setEnabled(!enabled);
          }}
        />
        Enable keyboard shortcuts
      </label>
    </Dialog>
  );
}
