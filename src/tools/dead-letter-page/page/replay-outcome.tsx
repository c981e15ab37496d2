// What came of a replay, or would come of it, for each event name.
import { showInvisible } from '../../pages/components/format.js';
import { Icon } from '../../pages/components/icon.js';
import { ScrollArea } from '../../pages/components/scroll-area.js';
import type { ReplayEnd, ReplayedEvents, ReplayReport } from './api.js';
import { ENDS, ORDER, textOf } from './replay-text.js';

export function ReplayOutcome({ report }: { report: ReplayReport }) {
  if (report.events.length === 0) return null;
  return (
    <ScrollArea label="For each event name">
      <ul class="stack outcome">
        {report.events.map((event) => (
          <li class="card" key={event.eventName}>
            <h3 class="mono wrap">{showInvisible(event.eventName)}</h3>
            <ul>
              {ORDER.filter((end) => event[end] > 0).map((end) => (
                <End key={end} event={event} end={end} dryRun={report.dryRun} />
              ))}
            </ul>
            <IssueCounts issues={event.issues} />
          </li>
        ))}
      </ul>
    </ScrollArea>
  );
}

interface EndProps {
  readonly event: ReplayedEvents;
  readonly end: ReplayEnd;
  readonly dryRun: boolean;
}

function End({ event, end, dryRun }: EndProps) {
  const well = end === 'processed' || end === 'duplicates';
  const tone = well ? 'delivered' : end === 'failed' ? 'failed' : 'fault';
  return (
    <li class="end">
      <span class={`tone-${tone}`}>
        <Icon name={tone} />
      </span>
      <span>
        <b>{event[end].toLocaleString('en')}</b> {textOf({ dryRun }, end)}
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
          <th scope="col">Where it does not fit</th>
          <th scope="col">In</th>
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
