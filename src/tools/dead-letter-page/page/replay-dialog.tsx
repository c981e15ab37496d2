// Replays one letter, or all that match: a dry run, then the replay and its report.
import { useEffect, useRef, useState } from 'preact/hooks';
import { messageOf } from '../../pages/components/api-client.js';
import { Button } from '../../pages/components/button.js';
import { Dialog, ScrollArea } from '../../pages/components/dialog.js';
import { focus } from '../../pages/components/focus.js';
import { plural, showInvisible } from '../../pages/components/format.js';
import { Icon } from '../../pages/components/icon.js';
import { useAnnounce } from '../../pages/components/page-frame.js';
import { ENDS, ORDER, reportText, textOf } from '../replay-text.js';
import {
  api,
  type ReplayEnd,
  type ReplayedEvents,
  type ReplayProgress,
  type ReplayReport,
  type Target,
} from './api.js';
import type { WorkDialogProps } from './letters-context.js';

export function ReplayDialog({ work: { target, what }, closed }: WorkDialogProps) {
  const run = useReplay(target);
  const [held, setHeld] = useState(false);
  const runs = run.state.step === 'running' && !run.state.dryRun;
  const hold = () => {
    setHeld(true);
    focus('dialog .stop');
  };
  return (
    <Dialog title={`Replay ${what}`} keep hold={runs ? hold : undefined} closed={closed}>
      {(close) => <ReplaySteps run={run} held={held && runs} close={close} />}
    </Dialog>
  );
}

/** One button leads through all steps, so that it keeps the focus. */
function ReplaySteps({ run, held, close }: { run: ReplayRun; held: boolean; close: () => void }) {
  const { state, stop } = run;
  const announce = useAnnounce();
  const text = stateText(state);
  useEffect(() => {
    if (state.step !== 'running') announce(text);
    // The focused button may have disappeared.
    if (!document.activeElement?.closest('dialog')) focus('dialog .primary');
  }, [announce, state.step, text]);
  const { label, act } = nextStep(run, close);
  return (
    <div class="stack">
      <p class="replay-state">{text}</p>
      {state.step === 'running' && <ProgressBar state={state} />}
      {(state.step === 'checked' || state.step === 'done') && <ReplayOutcome report={state.report} />}
      <p class="note" role="status">
        {held && 'The replay is running. Stop it first, or wait until it ends.'}
      </p>
      <p class="cluster">
        <Button look="primary" autofocus aria-disabled={act === wait} act={act}>
          {label}
        </Button>
        {state.step === 'running' ? (
          <Button look="quiet stop" act={stop}>
            Stop
          </Button>
        ) : (
          state.step !== 'done' && (
            <Button look="quiet" act={close}>
              Cancel
            </Button>
          )
        )}
      </p>
    </div>
  );
}

const wait = () => {};

function nextStep({ state, check, replay }: ReplayRun, close: () => void) {
  if (state.step === 'running') return { act: wait, label: state.dryRun ? 'Checking…' : 'Replaying…' };
  if (state.step === 'done') return { act: close, label: 'Done' };
  if (state.step === 'ended' || state.report.processed === 0) return { act: check, label: 'Check again' };
  return { act: replay, label: `Replay ${plural(state.report.processed, 'dead letter')}` };
}

function stateText(state: ReplayState): string {
  if (state.step === 'ended') return state.message;
  if (state.step !== 'running') return reportText(state.report);
  if (state.dryRun) return 'Checking what would happen. Nothing is changed.';
  return 'Your handlers are running. If you stop, processed letters stay processed.';
}

function ProgressBar({ state }: { state: Extract<ReplayState, { step: 'running' }> }) {
  const { done = 0, total, processed = 0, failed = 0 } = state.progress ?? {};
  return (
    <div class="stack tight">
      <progress aria-label="Progress" max={total ?? 1} value={total === undefined ? undefined : done} />
      <p class="note">
        {total === undefined
          ? 'Counting…'
          : `${done} of ${plural(total, 'dead letter')}${state.dryRun ? '' : `: ${processed} processed, ${failed} failed`}`}
      </p>
    </div>
  );
}

type ReplayState =
  | { readonly step: 'running'; readonly dryRun: boolean; readonly progress?: ReplayProgress }
  | { readonly step: 'checked' | 'done'; readonly report: ReplayReport }
  /** It failed or was stopped. */
  | { readonly step: 'ended'; readonly message: string };

type ReplayRun = ReturnType<typeof useReplay>;

function useReplay(target: Target) {
  const [state, setState] = useState<ReplayState>({ step: 'running', dryRun: true });
  const running = useRef(new AbortController());
  const run = async (dryRun: boolean) => {
    running.current = new AbortController();
    const { signal } = running.current;
    const show = (next: ReplayState) => running.current.signal === signal && setState(next);
    let last: ReplayProgress | undefined;
    show({ step: 'running', dryRun });
    const onProgress = (progress: ReplayProgress) => {
      last = progress;
      show({ step: 'running', dryRun, progress });
    };
    try {
      const report = await api.replay(target, { dryRun, signal, onProgress });
      show({ step: dryRun ? 'checked' : 'done', report });
    } catch (error) {
      const message = signal.aborted ? 'Stopped.' : messageOf(error);
      show({ step: 'ended', message: dryRun ? message : `${message} ${whatWasDone(last)}` });
    }
  };
  // Only when the dialog opens.
  useEffect(() => {
    run(true);
    // The server stops a replay when its client disconnects.
    return () => running.current.abort();
  }, []);
  return {
    state,
    check: () => void run(true),
    replay: () => void run(false),
    stop: () => running.current.abort(),
  };
}

function whatWasDone(last: ReplayProgress | undefined): string {
  const { done = 0, total, processed = 0, failed = 0 } = last ?? {};
  const counts = total === undefined ? '' : `${done} of ${total}: ${processed} processed, ${failed} failed. `;
  return `${counts}What was processed stays processed. Replay again to continue.`;
}

function ReplayOutcome({ report }: { report: ReplayReport }) {
  if (report.events.length === 0) return null;
  return (
    <ScrollArea label="For each event name">
      <ul class="stack tight">
        {report.events.map((event) => (
          <li class="card" key={event.eventName}>
            <h3 class="mono wrap">{showInvisible(event.eventName)}</h3>
            <ul>
              {ORDER.filter((end) => event[end] > 0).map((end) => (
                <End key={end} count={event[end]} end={end} dryRun={report.dryRun} />
              ))}
            </ul>
            <IssueCounts issues={event.issues} />
          </li>
        ))}
      </ul>
    </ScrollArea>
  );
}

function End({ count, end, dryRun }: { count: number; end: ReplayEnd; dryRun: boolean }) {
  const well = end === 'processed' || end === 'duplicates';
  const tone = well ? 'delivered' : end === 'failed' ? 'failed' : 'fault';
  return (
    <li class="line">
      <Icon name={tone} tone={tone} />
      <span>
        <b>{count.toLocaleString('en')}</b> {textOf({ dryRun }, end)}
        {ENDS[end].hint && <span class="note"> {ENDS[end].hint}</span>}
      </span>
    </li>
  );
}

function IssueCounts({ issues }: Pick<ReplayedEvents, 'issues'>) {
  if (issues.length === 0) return null;
  return (
    <table class="headers issue-counts">
      <thead>
        <tr class="note">
          <th scope="col">Schema error</th>
          <th scope="col">Letters</th>
        </tr>
      </thead>
      <tbody>
        {issues.map(({ path, count }) => (
          <tr key={path}>
            <th class="mono" scope="row">
              {showInvisible(path)}
            </th>
            <td>{count.toLocaleString('en')}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
