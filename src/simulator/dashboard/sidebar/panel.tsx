// A panel of the sidebar, which folds, and the button in it that opens a form.
import type { ComponentChild, ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useFocusReturn } from '../components/focus.js';
import { Icon } from '../components/icon.js';

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
      <summary class="cluster">
        <h2>{title}</h2>
        {count > 0 && <span class="note">{count}</span>}
        <Icon name="chevron" />
      </summary>
      <div class="panel-body stack">{children}</div>
    </details>
  );
}

interface AddButtonProps {
  readonly label: string;
  /** Shown while the list is empty. */
  readonly emptyText: string | undefined;
  readonly form: (close: () => void) => ComponentChild;
}

/** The form replaces the button until it is closed. */
export function AddButton({ label, emptyText, form }: AddButtonProps) {
  const [open, setOpen] = useState(false);
  const button = useFocusReturn(open);
  if (open) return <>{form(() => setOpen(false))}</>;
  return (
    <>
      {emptyText && <p class="note">{emptyText}</p>}
      <button type="button" class="button" ref={button} onClick={() => setOpen(true)}>
        <Icon name="plus" />
        {label}
      </button>
    </>
  );
}
