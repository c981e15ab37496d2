// A section of the sidebar that can be folded away; on a narrow screen it starts folded.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

interface PanelProps {
  readonly title: string;
  readonly id: string;
  /** A short fact beside the title. */
  readonly fact?: string | undefined;
  readonly children: ComponentChildren;
}

export function Panel({ title, id, fact, children }: PanelProps) {
  const [startsOpen] = useState(() => !matchMedia('(max-width: 60rem)').matches);
  return (
    <details class="panel" id={id} open={startsOpen}>
      <summary>
        <h2>{title}</h2>
        {fact && <span class="panel-fact number">{fact}</span>}
      </summary>
      <div class="panel-body">{children}</div>
    </details>
  );
}
