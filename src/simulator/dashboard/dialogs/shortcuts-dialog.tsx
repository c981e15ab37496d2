// The list of single keys, and the switch that turns them off.
import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.js';
import { setShortcutsOn, shortcutsOn } from '../parts/shortcuts.js';

const KEYS: readonly [keys: readonly string[], what: string][] = [
  [['j', 'k'], 'Next and previous delivery'],
  [['Enter'], 'Open the delivery'],
  [['Esc'], 'Close the delivery'],
  [['r'], 'Retry now, or resend'],
  [['n'], 'New event'],
  [['/'], 'Search'],
  [['p'], 'Pause the list, or go on'],
  [['?'], 'This list'],
];

export function ShortcutsDialog({ close }: { close: () => void }) {
  const [on, setOn] = useState(shortcutsOn);
  return (
    <Dialog title="Keyboard" close={close}>
      <table class="keys">
        <tbody>
          {KEYS.map(([keys, what]) => (
            <tr key={what}>
              <th scope="row">
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </th>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <label class="choice">
        <input
          type="checkbox"
          checked={on}
          onChange={() => {
            setShortcutsOn(!on);
            setOn(!on);
          }}
        />
        Single keys act on the page
      </label>
    </Dialog>
  );
}
