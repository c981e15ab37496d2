// Light, dark, or as the system has it; the choice is remembered.
import { useEffect, useState } from 'preact/hooks';

export type Theme = 'auto' | 'light' | 'dark';

const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];
const SETTING = 'theme';

export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(
    () => THEMES.find((name) => name === localStorage.getItem(SETTING)) ?? 'auto',
  );
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem(SETTING, theme);
  }, [theme]);
  const next = () => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto');
  return [theme, next];
}
