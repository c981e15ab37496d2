// Numbered steps, some of which may be done.
import type { ComponentChildren } from 'preact';

export function Steps({ children }: { children: ComponentChildren }) {
  return <ol class="steps">{children}</ol>;
}

interface StepProps {
  readonly title: string;
  readonly done?: boolean;
  readonly children: ComponentChildren;
}

export function Step({ title, done = false, children }: StepProps) {
  return (
    <li class={done ? 'stack done' : 'stack'}>
      <h3>
        {title}
        {done && <span class="visually-hidden"> (done)</span>}
      </h3>
      {children}
    </li>
  );
}
