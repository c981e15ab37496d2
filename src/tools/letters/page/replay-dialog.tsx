// Replays one letter, or all that match: a dry run, then the replay and its report.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ReplayEnd, ReplayProgress, ReplayReport } from '../../../dead-letters/replay.js';
import { messageOf } from '../../web/components/api-client.js';
import { Button } from '../../web/components/button.js';
import { Dialog, ScrollArea } from '../../web/components/dialog.js';
import { focus } from '../../web/components/focus.js';
import { plural, showInvisible } from '../../web/components/format.js';
import { Icon } from '../../web/components/icon.js';
import { useAnnounce } from '../../web/components/page-frame.js';
import { ENDS, ORDER, reportText, textOf } from '../replay-text.js';
import { api, type Target } from './api.js';
import type { WorkDialogProps } from './use-letters.js';

export function ReplayDialog({ target, what, closed }: WorkDialogProps) {
  const run = useReplay(target);
  const [held, setHeld] = useState(false);
  const runs = isRunning(run.state) && !run.state.dryRun;
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
  const { dryRun, report } = state;
  const running = isRunning(state);
  const announce = useAnnounce();
  const text = stateText(state);
  useEffect(() => {
    if (!running) announce(text);
    // The focused button may have disappeared.
    if (!document.activeElement?.closest('dialog')) focus('dialog .primary');
  }, [announce, running, text]);
  return (
    <div class="stack">
      <p class="replay-state">{text}</p>
      {running && <ProgressBar state={state} />}
      {report && <ReplayOutcome report={report} />}
      <p class="note" role="status">
        {held && 'The replay is running. Stop it first, or wait until it ends.'}
      </p>
      <p class="cluster">
        <Button look="primary" autofocus aria-disabled={running} {...nextStep(run, close)} />
        {running ? (
          <Button look="quiet stop" text="Stop" act={stop} />
        ) : (
          (dryRun || !report) && <Button look="quiet" text="Cancel" act={close} />
        )}
      </p>
    </div>
  );
}

function nextStep({ state, start }: ReplayRun, close: () => void) {
  const { dryRun, report } = state;
  if (isRunning(state)) return { act: () => {}, text: dryRun ? 'Checking…' : 'Replaying…' };
  if (report && !dryRun) return { act: close, text: 'Done' };
  if (!report || report.processed === 0) return { act: () => start(true), text: 'Check again' };
  return { act: () => start(false), text: `Replay ${plural(report.processed, 'dead letter')}` };
}

function stateText({ dryRun, progress, report, problem }: ReplayState): string {
  if (report) return reportText(report);
  if (problem !== undefined) return dryRun ? problem : `${problem} ${whatWasDone(progress)}`;
  if (dryRun) return 'Checking what would happen. Nothing is changed.';
  return 'Your handlers are running. If you stop, processed letters stay processed.';
}

function whatWasDone(progress: ReplayProgress | undefined): string {
  const { done, total, processed, failed } = progress ?? {};
  const counts = progress ? `${done} of ${total}: ${processed} processed, ${failed} failed. ` : '';
  return `${counts}What was processed stays processed. Replay again to continue.`;
}

function ProgressBar({ state: { dryRun, progress } }: { state: ReplayState }) {
  const { done, total = 1, processed, failed } = progress ?? {};
  const ends = dryRun ? '' : `: ${processed} processed, ${failed} failed`;
  return (
    <div class="stack tight">
      <progress aria-label="Progress" max={total} value={done} />
      <p class="note">{progress ? `${done} of ${plural(total, 'dead letter')}${ends}` : 'Counting…'}</p>
    </div>
  );
}

interface ReplayState {
  readonly dryRun: boolean;
  readonly progress?: ReplayProgress;
  /** When it has ended. */
  readonly report?: ReplayReport;
  /** When it failed or was stopped. */
  readonly problem?: string;
}

function isRunning({ report, problem }: ReplayState): boolean {
  return !report && problem === undefined;
}

type ReplayRun = ReturnType<typeof useReplay>;

function useReplay(target: Target) {
  const [state, setState] = useState<ReplayState>({ dryRun: true });
  const running = useRef(new AbortController());
  const run = async (dryRun: boolean) => {
    running.current = new AbortController();
    const { signal } = running.current;
    let current: ReplayState = { dryRun };
    const show = (change: Partial<ReplayState>) => {
      current = { ...current, ...change };
      if (running.current.signal === signal) setState(current);
    };
    show({});
    try {
      const onProgress = (progress: ReplayProgress) => show({ progress });
      show({ report: await api.replay(target, { dryRun, signal, onProgress }) });
    } catch (error) {
      show({ problem: signal.aborted ? 'Stopped.' : messageOf(error) });
    }
  };
  // Only when the dialog opens.
  useEffect(() => {
    run(true);
    // The server stops a replay when its client disconnects.
    return () => running.current.abort();
  }, []);
  return { state, start: (dryRun: boolean) => void run(dryRun), stop: () => running.current.abort() };
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

function IssueCounts({ issues }: Pick<ReplayReport['events'][number], 'issues'>) {
  if (issues.length === 0) return null;
  return (
    <table class="headers issue-counts wrap">
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
