// A button that makes way for a form, and comes back when the form is closed.
import type { ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { Icon } from '../parts/icon.js';
import { useFocusBack } from '../parts/use-focus-back.js';

interface AdderProps {
  readonly label: string;
  /** Said in place of an empty list. */
  readonly note: string | undefined;
  readonly form: (close: () => void) => ComponentChild;
}

export function Adder({ label, note, form }: AdderProps) {
  const [open, setOpen] = useState(false);
  const button = useFocusBack(open);
  if (open) return <>{form(() => setOpen(false))}</>;
  return (
    <>
      {note && <p class="note">{note}</p>}
      <button type="button" class="button" ref={button} onClick={() => setOpen(true)}>
        <Icon name="plus" />
        {label}
      </button>
    </>
  );
}
