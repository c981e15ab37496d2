// Tells screen readers what came of an action.
import { type ComponentChildren, createContext } from 'preact';
import { useCallback, useState } from 'preact/hooks';

export const AnnounceContext = createContext<(text: string) => void>(() => {});

export function Announcer({ children }: { children: ComponentChildren }) {
  const [said, say] = useState({ text: '', times: 0 });
  const announce = useCallback((text: string) => say(({ times }) => ({ text, times: times + 1 })), []);
  return (
    <AnnounceContext.Provider value={announce}>
      {children}
      <p class="visually-hidden announcer" aria-live="polite">
        {/* A new element, so that the same text is read once more. */}
        <span key={said.times}>{said.text}</span>
      </p>
    </AnnounceContext.Provider>
  );
}
