// The sidebar: how many letters each reason and event has, each a filter too.
import { Age } from '../../pages/components/clock.js';
import { showInvisible } from '../../pages/components/format.js';
import { Panel } from '../../pages/components/page-frame.js';
import { OTHER_NAMES } from './api.js';
import { usePage } from './letters-context.js';
import { ReasonIcon, reasonLabel } from './reason.js';

export function Groups() {
  const { route, navigate, loaded } = usePage();
  const groups = loaded?.summary.groups ?? [];
  const sorted = groups.toSorted(
    (one, other) => other.count - one.count || one.eventName.localeCompare(other.eventName),
  );
  return (
    <Panel title="By reason and event" id="groups" count={groups.length}>
      {groups.length === 0 && <p class="note">Nothing to count.</p>}
      <ul>
        {sorted.map(({ reason, eventName, count, oldest }) => {
          const event = eventName === OTHER_NAMES ? undefined : eventName;
          const chosen = route.reason === reason && route.event === event;
          const change = chosen ? { reason: undefined, event: undefined } : { reason, event };
          return (
            <li key={`${reason} ${eventName}`}>
              <button
                type="button"
                class="group choice"
                aria-pressed={chosen}
                onClick={() => navigate({ ...change, letter: undefined })}
              >
                <ReasonIcon reason={reason} />
                <span class="wrap">{event === undefined ? 'Other names' : showInvisible(event)}</span>
                <b>{count.toLocaleString('en')}</b>
                <span class="note">
                  {reasonLabel(reason)}, oldest <Age at={oldest} />
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}
