// Single keys that act on the page while nothing is being typed; they can be turned off.
import { useEffect, useRef } from 'preact/hooks';
import { remember, remembered } from './remembered.js';

export type Shortcuts = Readonly<Record<string, () => void>>;

const SETTING = 'shortcuts';
const TYPING = 'input, textarea, select, [contenteditable]';

let on = remembered(SETTING) !== 'off';

export function shortcutsOn(): boolean {
  return on;
}

export function setShortcutsOn(wanted: boolean): void {
  on = wanted;
  remember(SETTING, wanted ? 'on' : 'off');
}

/** The keys work while the component is there. Escape works even when single keys are off. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const action = Object.hasOwn(latest.current, event.key) ? latest.current[event.key] : undefined;
      if (!action || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (event.key !== 'Escape' && !on) return;
      const target = event.target instanceof Element ? event.target : document.body;
      if (target.closest(TYPING) || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      action();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}
