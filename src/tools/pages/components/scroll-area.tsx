// A part that scrolls when it is long, also by keyboard.
import type { ComponentChildren } from 'preact';

export function ScrollArea({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
    <section class="scroll-area" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
