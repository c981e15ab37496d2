// What went wrong with something the reader asked for, shown until it is put away.
import { createContext } from 'preact';
import { useCallback, useContext, useState } from 'preact/hooks';

export const NoticeContext = createContext<(text: string | undefined) => void>(() => {});

/** Runs an action at a time; a refusal becomes a notice. */
export function useAction<Arguments extends unknown[]>(
  action: (...given: Arguments) => Promise<unknown>,
): { run: (...given: Arguments) => Promise<void>; busy: boolean } {
  const notice = useContext(NoticeContext);
  const [busy, setBusy] = useState(false);
  const run = useCallback(
    async (...given: Arguments) => {
      setBusy(true);
      try {
        await action(...given);
        notice(undefined);
      } catch (error) {
        notice(error instanceof Error ? error.message : String(error));
      } finally {
        setBusy(false);
      }
    },
    [action, notice],
  );
  return { run, busy };
}
