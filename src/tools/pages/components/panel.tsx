// A panel of the sidebar, which folds.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

interface PanelProps {
  readonly title: string;
  readonly id: string;
  /** How many there are; nothing is shown for none. */
  readonly count?: number;
  readonly children: ComponentChildren;
}

/** On a narrow screen the panel starts folded. */
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
