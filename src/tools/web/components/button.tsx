// A button that runs one action at a time, and reports an error in the notice of the page.
import { type ComponentProps, createContext } from 'preact';
import { useContext, useRef } from 'preact/hooks';
import { messageOf } from './api-client.js';
import { Icon } from './icon.js';

export const NoticeContext = createContext<(text: string | undefined) => void>(() => {});

/** Ignores calls while the action runs, and shows its error as the notice. */
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
  readonly text?: string;
  /** `primary`, `quiet`, `small`. */
  readonly look?: string;
  readonly label?: string | undefined;
}

/** Stays enabled while it runs: disabling it would drop the keyboard focus. */
export function Button({ act, look = '', label, text, children = text, ...attributes }: ButtonProps) {
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
