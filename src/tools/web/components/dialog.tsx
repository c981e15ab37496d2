// A modal dialog, a button that opens one, and a scrolling part.
import { type ComponentChildren, createContext } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Button, CloseButton } from './button.js';

/** Closes the dialog that a form is in. */
export const CloseContext = createContext<(() => void) | undefined>(undefined);

interface DialogProps {
  readonly title: string;
  /** Keeps it open when the user clicks outside. */
  readonly keep?: boolean;
  /** Called instead of closing, while closing would stop a running task. */
  readonly hold?: (() => void) | undefined;
  readonly closed: () => void;
  readonly children: ComponentChildren | ((close: () => void) => ComponentChildren);
}

export function Dialog({ title, keep = false, hold, closed, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => element.current?.showModal(), []);
  const close = () => (hold ? hold() : element.current?.close());
  return (
    <dialog
      ref={element}
      class="dialog"
      aria-labelledby={heading}
      closedby={hold ? 'none' : keep ? 'closerequest' : 'any'}
      onKeyDown={(event) => event.key === 'Escape' && hold?.()}
      onClose={closed}
    >
      <div class="stack">
        <header class="spread">
          <h2 class="wrap" id={heading}>
            {title}
          </h2>
          <CloseButton label="Close" close={close} />
        </header>
        <CloseContext.Provider value={close}>
          {typeof children === 'function' ? children(close) : children}
        </CloseContext.Provider>
      </div>
    </dialog>
  );
}

interface DialogButtonProps extends Omit<DialogProps, 'closed' | 'hold'> {
  readonly text?: string;
  readonly look?: string;
  readonly label?: string;
}

export function DialogButton({ title, text = title, keep = false, children, ...button }: DialogButtonProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button text={text} {...button} act={() => setOpen(true)} />
      {open && (
        <Dialog title={title} keep={keep} closed={() => setOpen(false)}>
          {children}
        </Dialog>
      )}
    </>
  );
}

export function ScrollArea({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
    <section class="scroll-area" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
