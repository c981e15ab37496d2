// The button that changes the theme: as the system says, light, or dark.
import { useLayoutEffect, useState } from 'preact/hooks';
import { Button } from './button.js';
import { loadSetting, saveSetting } from './saved-setting.js';

type Theme = 'auto' | 'light' | 'dark';

const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];

export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(
    () => THEMES.find((name) => name === loadSetting('theme')) ?? 'auto',
  );
  // Before the next frame, so that no other theme flashes up.
  useLayoutEffect(() => {
    document.documentElement.style.colorScheme = theme === 'auto' ? '' : theme;
    saveSetting('theme', theme);
  }, [theme]);
  const next = () => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto');
  return (
    <Button look="quiet" act={next}>
      Theme: {theme}
    </Button>
  );
}
