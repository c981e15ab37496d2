// Single-key shortcuts. They do nothing while the user types, and can be turned off.
import { useEffect, useRef } from 'preact/hooks';
import { loadSetting, saveSetting } from './saved-setting.js';

export type Shortcuts = Readonly<Record<string, () => void>>;

const SETTING = 'shortcuts';
const TYPING = 'input, textarea, select, [contenteditable]';

let enabled = loadSetting(SETTING) !== 'off';

export function shortcutsEnabled(): boolean {
  return enabled;
}

export function enableShortcuts(enable: boolean): void {
  enabled = enable;
  saveSetting(SETTING, enable ? 'on' : 'off');
}

/** The keys work while the component is mounted. Escape also works when shortcuts are off. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const action = Object.hasOwn(latest.current, event.key) ? latest.current[event.key] : undefined;
      if (!action || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (event.key !== 'Escape' && !enabled) return;
      const target = event.target instanceof Element ? event.target : document.body;
      if (target.closest(TYPING) || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      action();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}
