// The frame of a page: header, theme, shortcuts, notice and announcements; and the panels of its sidebar.
import { type ComponentChildren, createContext } from 'preact';
import { useCallback, useContext, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button, CloseButton, NoticeContext } from './button.js';
import { Dialog } from './dialog.js';
import { loadSetting, saveSetting } from './settings.js';

/** Makes a screen reader say a text. */
const AnnounceContext = createContext<(text: string) => void>(() => {});

export const useAnnounce = () => useContext(AnnounceContext);

interface PageProps {
  readonly title: string;
  /** What the page lists, e.g. `deliveries`. */
  readonly lists: string;
  readonly status: ComponentChildren;
  readonly buttons?: ComponentChildren;
  readonly shortcuts: Readonly<Record<string, string>>;
  /** When it changes, the notice is outdated and disappears. */
  readonly epoch?: unknown;
  readonly children: ComponentChildren;
}

export function Page({ title, lists, status, buttons, shortcuts, epoch, children }: PageProps) {
  const [notice, setNotice] = useState<string>();
  useEffect(() => setNotice(undefined), [epoch]);
  const [explained, explain] = useState(false);
  useKeys({ '?': () => explain(true) });
  const [said, say] = useState({ text: '', times: 0 });
  const announce = useCallback((text: string) => say(({ times }) => ({ text, times: times + 1 })), []);
  return (
    <AnnounceContext.Provider value={announce}>
      <NoticeContext.Provider value={setNotice}>
        <a class="skip-link button" href="#main">
          Skip to {lists}
        </a>
        <header class="page-head cluster">
          <h1>{title}</h1>
          {status}
          <div class="toolbar">
            <ThemeButton />
            <Button look="quiet help" act={() => explain(true)}>
              Shortcuts <kbd>?</kbd>
            </Button>
            {buttons}
          </div>
        </header>
        <div role="alert">
          {notice && (
            <div class="notice callout spread tone-failed">
              <p>{notice}</p>
              <CloseButton label="Dismiss" close={() => setNotice(undefined)} />
            </div>
          )}
        </div>
        {children}
        {explained && <ShortcutsDialog shortcuts={shortcuts} closed={() => explain(false)} />}
        <p class="visually-hidden announcer" aria-live="polite">
          {/* A new element, so that a repeated text is read again. */}
          <span key={said.times}>{said.text}</span>
        </p>
      </NoticeContext.Provider>
    </AnnounceContext.Provider>
  );
}

const THEMES = ['auto', 'light', 'dark'];

function ThemeButton() {
  const [theme, setTheme] = useState(() => THEMES.find((name) => name === loadSetting('theme')) ?? 'auto');
  // Before the first paint, so that no other theme flashes.
  useLayoutEffect(() => {
    document.documentElement.style.colorScheme = theme === 'auto' ? '' : theme;
    saveSetting('theme', theme);
  }, [theme]);
  const next = () => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto');
  return (
    <Button look="quiet theme" label={`Theme: ${theme}`} act={next}>
      <span>Theme: {theme}</span>
    </Button>
  );
}

const TYPING = 'input, textarea, select, [contenteditable]';

const enabled = () => loadSetting('shortcuts') !== 'off';

/** Keys work while the component is mounted, except while the user types. Escape also works when shortcuts are off. */
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

function ShortcutsDialog({ shortcuts, closed }: Pick<PageProps, 'shortcuts'> & { closed: () => void }) {
  const [on, setOn] = useState(enabled);
  const toggle = () => {
    saveSetting('shortcuts', on ? 'off' : 'on');
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

interface PanelProps {
  readonly title: string;
  readonly id: string;
  /** Hidden when 0. */
  readonly count?: number;
  readonly children: ComponentChildren;
}

/** Starts closed on a narrow screen. */
export function Panel({ title, id, count = 0, children }: PanelProps) {
  const [startsOpen] = useState(() => !matchMedia('(width <= 60rem)').matches);
  return (
    <details class="panel" id={id} open={startsOpen}>
      <summary>
        <h2>{title}</h2> {count > 0 && <span class="note">{count}</span>}
      </summary>
      <div class="panel-body stack">{children}</div>
    </details>
  );
}
