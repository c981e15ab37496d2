// A button that runs an action, once at a time, and reports its failure in the notice of the page.
import { type ComponentProps, createContext } from 'preact';
import { useContext, useRef } from 'preact/hooks';
import { messageOf } from './api-client.js';
import { Icon } from './icon.js';

export const NoticeContext = createContext<(text: string | undefined) => void>(() => {});

/** Runs an action once at a time; its error becomes the notice. */
export function useAction<Given extends unknown[]>(
  action: (...given: Given) => unknown,
): (...given: Given) => Promise<void> {
  const notify = useContext(NoticeContext);
  const running = useRef(false);
  return async (...given) => {
    if (running.current) return;
    running.current = true;
    try {
      await action(...given);
      notify(undefined);
    } catch (error) {
      notify(messageOf(error));
    } finally {
      running.current = false;
    }
  };
}

interface ButtonProps extends Omit<ComponentProps<'button'>, 'class' | 'label' | 'onClick'> {
  readonly act: () => unknown;
  /** `primary`, `quiet`, `small`. */
  readonly look?: string;
  /** Its name for assistive technology, where the text is not enough. */
  readonly label?: string | undefined;
}

/** Not disabled while it runs: that would take the focus away from someone who uses the keyboard. */
export function Button({ act, look = '', label, children, ...attributes }: ButtonProps) {
  const run = useAction(act);
  return (
    <button type="button" {...attributes} class={`button ${look}`} aria-label={label} onClick={() => run()}>
      {children}
    </button>
  );
}

export function CloseButton({ label, close }: { label: string; close: () => void }) {
  return (
    <Button look="quiet small" label={label} act={close}>
      <Icon name="close" />
    </Button>
  );
}
