// The notice at the bottom of the page: why the last action failed, until it is dismissed.
import { createContext } from 'preact';
import { useCallback, useContext, useRef } from 'preact/hooks';
import { CloseButton } from './close-button.js';

export const NoticeContext = createContext<(text: string | undefined) => void>(() => {});

/**
 * Runs an action once at a time; its error becomes the notice. The button is not disabled meanwhile: that would
 * take the focus away from someone who uses the keyboard.
 */
export function useAction<Arguments extends unknown[]>(
  action: (...given: Arguments) => Promise<unknown>,
): (...given: Arguments) => Promise<void> {
  const notify = useContext(NoticeContext);
  const running = useRef(false);
  return useCallback(
    async (...given: Arguments) => {
      if (running.current) return;
      running.current = true;
      try {
        await action(...given);
        notify(undefined);
      } catch (error) {
        notify(error instanceof Error ? error.message : String(error));
      } finally {
        running.current = false;
      }
    },
    [action, notify],
  );
}

export function Notice({ text, dismiss }: { text: string | undefined; dismiss: () => void }) {
  return (
    <div role="alert">
      {text && (
        <div class="notice callout tone-failed">
          <p>{text}</p>
          <CloseButton label="Dismiss" close={dismiss} />
        </div>
      )}
    </div>
  );
}
