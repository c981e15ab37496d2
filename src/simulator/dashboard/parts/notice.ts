// What went wrong with something the reader asked for, shown until it is put away.
import { createContext } from 'preact';
import { useCallback, useContext, useRef } from 'preact/hooks';

export const NoticeContext = createContext<(text: string | undefined) => void>(() => {});

/**
 * Runs an action once at a time; a refusal becomes a notice. The button is not disabled meanwhile: that would
 * take the focus away from whoever uses the keyboard.
 */
export function useAction<Arguments extends unknown[]>(
  action: (...given: Arguments) => Promise<unknown>,
): (...given: Arguments) => Promise<void> {
  const notice = useContext(NoticeContext);
  const running = useRef(false);
  return useCallback(
    async (...given: Arguments) => {
      if (running.current) return;
      running.current = true;
      try {
        await action(...given);
        notice(undefined);
      } catch (error) {
        notice(error instanceof Error ? error.message : String(error));
      } finally {
        running.current = false;
      }
    },
    [action, notice],
  );
}
