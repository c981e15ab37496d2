// The keyboard shortcuts: their table, the dialog that shows it, and the hook that listens.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Dialog } from './dialog.js';
import { loadSetting, saveSetting } from './saved-setting.js';

const SHORTCUTS = {
  j: 'Next delivery',
  k: 'Previous delivery',
  Enter: 'Open the delivery',
  Escape: 'Close the delivery',
  r: 'Retry now, or resend',
  n: 'Trigger an event',
  '/': 'Search',
  p: 'Hold or show new deliveries',
  '?': 'Show these shortcuts',
} as const;

const SETTING = 'shortcuts';
const TYPING = 'input, textarea, select, [contenteditable]';

const enabled = () => loadSetting(SETTING) !== 'off';

/** The keys work while the component is mounted, except while the user types. Escape works when shortcuts are off. */
export function useShortcuts(shortcuts: Partial<Record<keyof typeof SHORTCUTS, () => void>>): void {
  const latest = useRef<Partial<Record<string, () => void>>>(shortcuts);
  latest.current = shortcuts;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const action = Object.hasOwn(latest.current, event.key) ? latest.current[event.key] : undefined;
      if (!action || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (event.key !== 'Escape' && !enabled()) return;
      const target = event.target instanceof Element ? event.target : document.body;
      if (target.closest(TYPING) || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      action();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}

export function ShortcutsDialog({ closed }: { closed: () => void }) {
  const [on, setOn] = useState(enabled);
  const toggle = () => {
    saveSetting(SETTING, on ? 'off' : 'on');
    setOn(!on);
  };
  return (
    <Dialog title="Keyboard shortcuts" closed={closed}>
      <table class="shortcuts">
        <tbody>
          {Object.entries(SHORTCUTS).map(([key, action]) => (
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
        <input type="checkbox" checked={on} onChange={toggle} />
        Enable keyboard shortcuts
      </label>
    </Dialog>
  );
}
