// Replays letters: first a dry run, which says what would happen, then the replay itself.
import { useEffect, useRef, useState } from 'preact/hooks';
import { api, type Progress, type ReplayReport, type Target } from './api.js';

export type ReplayState =
  | { readonly step: 'running'; readonly dryRun: boolean; readonly progress?: Progress }
  | { readonly step: 'checked' | 'done'; readonly report: ReplayReport }
  /** It failed or was stopped. */
  | { readonly step: 'ended'; readonly message: string };

export interface ReplayRun {
  readonly state: ReplayState;
  readonly check: () => void;
  readonly replay: () => void;
  readonly stop: () => void;
}

/** @param started called when the replay begins, after which the letters are no longer what they were */
export function useReplay(target: Target, started: () => void): ReplayRun {
  const [state, setState] = useState<ReplayState>({ step: 'running', dryRun: true });
  const running = useRef(new AbortController());
  const run = async (dryRun: boolean) => {
    running.current = new AbortController();
    const { signal } = running.current;
    const show = (next: ReplayState) => running.current.signal === signal && setState(next);
    let last: Progress | undefined;
    show({ step: 'running', dryRun });
    const onProgress = (progress: Progress) => {
      last = progress;
      show({ step: 'running', dryRun, progress });
    };
    try {
      const report = await api.replay(target, { dryRun, signal, onProgress });
      show({ step: dryRun ? 'checked' : 'done', report });
    } catch (error) {
      const stopped = signal.aborted ? 'Stopped.' : undefined;
      const message = stopped ?? (error instanceof Error ? error.message : String(error));
      show({ step: 'ended', message: `${message}${dryRun ? '' : ` ${whatWasDone(last)}`}` });
    }
  };
  // Once, when the dialog opens.
  useEffect(() => {
    run(true);
    // The server ends a replay when its caller leaves.
    return () => running.current.abort();
  }, []);
  return {
    state,
    check: () => void run(true),
    replay: () => {
      started();
      run(false);
    },
    stop: () => running.current.abort(),
  };
}

function whatWasDone(last: Progress | undefined): string {
  const { done = 0, total, processed = 0, failed = 0 } = last ?? {};
  const counts = total === undefined ? '' : `${done} of ${total}: ${processed} processed, ${failed} failed. `;
  return `${counts}What was processed stays processed. Replay again to go on.`;
}
