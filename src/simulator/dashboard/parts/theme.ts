// Light, dark, or as the system has it; the choice is remembered.
import { useLayoutEffect, useState } from 'preact/hooks';
import { remember, remembered } from './remembered.js';

export type Theme = 'auto' | 'light' | 'dark';

const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];
const SETTING = 'theme';

export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(
    () => THEMES.find((name) => name === remembered(SETTING)) ?? 'auto',
  );
  // Before the next frame, so that no other theme flashes up.
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = theme;
    remember(SETTING, theme);
  }, [theme]);
  const next = () => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto');
  return [theme, next];
}
