// The sidebar: the search, and how many letters each reason and event has, each a filter too.
import { useEffect, useRef, useState } from 'preact/hooks';
import { focus } from '../../pages/components/focus.js';
import { Field, Form } from '../../pages/components/form.js';
import { showInvisible } from '../../pages/components/format.js';
import { Panel } from '../../pages/components/page-frame.js';
import { Age } from './age.js';
import { type Group, OTHER_NAMES } from './api.js';
import { ReasonIcon, reasonLabel } from './reason.js';
import { filterOf, formatFilter, type Navigate, type Route } from './route.js';
import { useShortcuts } from './shortcuts.js';
import type { Letters } from './use-letters.js';

const TIMES = [
  ['', 'Any time'],
  ['1h', 'Last hour'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
] as const;

const KEY_ID_HINT = 'Which private key signed. Each dead letter shows it.';

interface SearchProps {
  readonly route: Route;
  readonly navigate: Navigate;
  readonly letters: Letters;
}

export function Search({ route, navigate, letters }: SearchProps) {
  const { event = '', eventId = '', keyId = '', since = '' } = route;
  const { loaded, reload } = letters;
  useShortcuts({ '/': focusSearch });
  const showResults = useResultFocus(letters);
  const find = async (values: FormData) => {
    const text = (name: string) => String(values.get(name)).trim() || undefined;
    const given = { event: text('event'), eventId: text('eventId'), keyId: text('keyId') };
    const wanted = { ...given, since: text('since') };
    showResults();
    if (formatFilter({ ...filterOf(route), ...wanted }) === formatFilter(route)) await reload();
    else navigate({ ...wanted, letter: undefined });
  };
  return (
    <Panel title="Find" id="find">
      {/* A new form when the URL says something else. */}
      <Form key={`${event} ${eventId} ${keyId} ${since}`} verb="Find" submit={find}>
        <Field
          label="Event ID"
          name="eventId"
          class="mono"
          hint="Payloads cannot be searched. Without the ID, find by event and time."
          defaultValue={eventId}
        />
        <EventField event={event} loaded={loaded} />
        <SinceField since={since} />
        <Field label="Key ID" name="keyId" class="mono" hint={KEY_ID_HINT} defaultValue={keyId} />
      </Form>
    </Panel>
  );
}

/** Any name or pattern; those that are kept or declared are suggested. */
function EventField({ event, loaded }: { event: string } & Pick<Letters, 'loaded'>) {
  const names = new Set([
    ...(loaded?.summary.groups.map(({ eventName }) => eventName) ?? []),
    ...(loaded?.summary.names ?? []),
  ]);
  return (
    <>
      <Field
        label="Event"
        name="event"
        class="mono"
        list="event-names"
        placeholder="all, or refund.*"
        defaultValue={event}
      />
      <datalist id="event-names">
        {[...names]
          .filter((name) => name !== OTHER_NAMES)
          .sort()
          .map((name) => (
            <option key={name} value={name} />
          ))}
      </datalist>
    </>
  );
}

/** A link may hold a time that is not in the list. */
function SinceField({ since }: { since: string }) {
  const [chosen, choose] = useState(since);
  const times = TIMES.some(([time]) => time === since) ? TIMES : [...TIMES, [since, since] as const];
  return <Field label="First kept" name="since" options={times} value={chosen} change={choose} />;
}

function focusSearch(): void {
  document.querySelector('#find')?.setAttribute('open', '');
  focus('#find input');
  document.querySelector<HTMLInputElement>('#find input')?.select();
}

/** @returns a function after which the focus goes to the first of the letters that are loaded next */
function useResultFocus({ loaded }: Letters): () => void {
  const waiting = useRef(false);
  useEffect(() => {
    if (!waiting.current) return;
    waiting.current = false;
    requestAnimationFrame(() => focus(document.querySelector('[data-row]') ? '[data-row]' : '#list-title'));
  }, [loaded]);
  return () => {
    waiting.current = true;
  };
}

interface GroupsProps {
  readonly route: Route;
  readonly navigate: Navigate;
  readonly groups: readonly Group[];
}

export function Groups({ route, navigate, groups }: GroupsProps) {
  const sorted = [...groups].sort(
    (one, other) => other.count - one.count || one.eventName.localeCompare(other.eventName),
  );
  return (
    <Panel title="By reason and event" id="groups" count={groups.length}>
      {groups.length === 0 && <p class="note">Nothing to count.</p>}
      <ul>
        {sorted.map((group) => {
          const { reason, eventName } = group;
          const event = eventName === OTHER_NAMES ? undefined : eventName;
          const chosen = route.reason === reason && route.event === event;
          const change = chosen ? { reason: undefined, event: undefined } : { reason, event };
          return (
            <li key={`${reason} ${eventName}`}>
              <button
                type="button"
                class="group"
                aria-pressed={chosen}
                onClick={() => navigate({ ...change, letter: undefined })}
              >
                <GroupText group={group} />
              </button>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

function GroupText({ group: { reason, eventName, count, oldest } }: { group: Group }) {
  return (
    <>
      <ReasonIcon reason={reason} />
      <span class="wrap">{eventName === OTHER_NAMES ? 'Other names' : showInvisible(eventName)}</span>
      <b>{count.toLocaleString('en')}</b>
      <span class="note">
        {reasonLabel(reason)}, oldest <Age at={oldest} />
      </span>
    </>
  );
}
