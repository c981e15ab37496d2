// Replays one letter, or all that match: says what would happen, replays, and reports.
import { useContext, useEffect, useRef } from 'preact/hooks';
import { AnnounceContext } from '../../pages/components/announcer.js';
import { Button } from '../../pages/components/button.js';
import { Dialog } from '../../pages/components/dialog.js';
import { focus } from '../../pages/components/focus.js';
import { plural } from './count-text.js';
import { ReplayOutcome } from './replay-outcome.js';
import { lettersIn, reportText } from './replay-text.js';
import { type ReplayRun, type ReplayState, useReplay } from './use-replay.js';
import type { Work } from './work.js';

interface ReplayDialogProps {
  readonly work: Work;
  /** @param changed whether a replay was started */
  readonly closed: (changed: boolean) => void;
}

export function ReplayDialog({ work, closed }: ReplayDialogProps) {
  const changed = useRef(false);
  const run = useReplay(work.target, () => {
    changed.current = true;
  });
  return (
    <Dialog title={`Replay ${work.what}`} keep closed={() => closed(changed.current)}>
      {(close) => <ReplaySteps run={run} close={close} />}
    </Dialog>
  );
}

/** One button leads through the steps, so that the keyboard stays on it. */
function ReplaySteps({ run, close }: { run: ReplayRun; close: () => void }) {
  const { state, check, replay, stop } = run;
  const announce = useContext(AnnounceContext);
  const text = stateText(state);
  useEffect(() => {
    if (state.step !== 'running') announce(text);
    // The button of the step before may have disappeared.
    if (!document.activeElement?.closest('dialog')) focus('dialog .primary');
  }, [announce, state.step, text]);
  const next = nextStep(state);
  const act = { check, replay, close, wait: () => {} }[next.act];
  return (
    <div class="stack">
      <p class="replay-state">{text}</p>
      {state.step === 'running' && <ProgressBar state={state} />}
      {(state.step === 'checked' || state.step === 'done') && <ReplayOutcome report={state.report} />}
      <p class="cluster">
        <Button look="primary" autofocus aria-disabled={next.act === 'wait'} act={act}>
          {next.label}
        </Button>
        {state.step === 'running' ? (
          <Button look="quiet" act={stop}>
            Stop
          </Button>
        ) : (
          next.act !== 'close' && (
            <Button look="quiet" act={close}>
              Cancel
            </Button>
          )
        )}
      </p>
    </div>
  );
}

type Act = 'check' | 'replay' | 'close' | 'wait';

function nextStep(state: ReplayState): { readonly act: Act; readonly label: string } {
  if (state.step === 'running') return { act: 'wait', label: state.dryRun ? 'Checking…' : 'Replaying…' };
  if (state.step === 'ended') return { act: 'check', label: 'Check again' };
  if (state.step === 'done') return { act: 'close', label: 'Done' };
  if (state.report.processed === 0) return { act: 'check', label: 'Check again' };
  return { act: 'replay', label: `Replay ${plural(lettersIn(state.report), 'dead letter')}` };
}

function stateText(state: ReplayState): string {
  if (state.step === 'ended') return state.message;
  if (state.step !== 'running') return reportText(state.report);
  if (state.dryRun) return 'Checking what would happen. Nothing is changed.';
  return 'Your handlers run. What is processed stays processed when you stop or close this.';
}

function ProgressBar({ state }: { state: Extract<ReplayState, { step: 'running' }> }) {
  const { done = 0, total, processed = 0, failed = 0 } = state.progress ?? {};
  return (
    <div class="stack progress">
      <progress aria-label="Progress" max={total ?? 1} value={total === undefined ? undefined : done} />
      <p class="note">
        {total === undefined
          ? 'Counting…'
          : `${done} of ${plural(total, 'dead letter')}${state.dryRun ? '' : `: ${processed} processed, ${failed} failed`}`}
      </p>
    </div>
  );
}
