// A modal dialog. The browser keeps the focus inside it.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { CloseButton } from './close-button.js';

interface DialogProps {
  readonly title: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, close, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={element} class="dialog" aria-labelledby={heading} closedby="any" onClose={close}>
      <div class="stack">
        <header class="spread">
          <h2 id={heading}>{title}</h2>
          <CloseButton label="Close" close={close} />
        </header>
        {children}
      </div>
    </dialog>
  );
}
