// Keyboard shortcuts: the hook that listens, and the dialog that shows what each key does.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Dialog } from './dialog.js';
import { loadSetting, saveSetting } from './saved-setting.js';

const SETTING = 'shortcuts';
const TYPING = 'input, textarea, select, [contenteditable]';

const enabled = () => loadSetting(SETTING) !== 'off';

/**
 * The keys work while the component is mounted, except while the user types. Escape works when
 * shortcuts are off.
 */
export function useKeys<Key extends string>(shortcuts: Partial<Record<Key, () => void>>): void {
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

interface ShortcutsDialogProps {
  /** What each key does. */
  readonly shortcuts: Readonly<Record<string, string>>;
  readonly closed: () => void;
}

export function ShortcutsDialog({ shortcuts, closed }: ShortcutsDialogProps) {
  const [on, setOn] = useState(enabled);
  const toggle = () => {
    saveSetting(SETTING, on ? 'off' : 'on');
    setOn(!on);
  };
  return (
    <Dialog title="Keyboard shortcuts" closed={closed}>
      <table class="shortcuts">
        <tbody>
          {Object.entries(shortcuts).map(([key, action]) => (
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
