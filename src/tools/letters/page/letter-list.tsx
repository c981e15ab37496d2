// The matching letters: count, search, filter by reason, actions on all, and the table.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../web/components/button.js';
import { focusSoon } from '../../web/components/focus.js';
import { plural } from '../../web/components/format.js';
import { FilterBar, SearchBar } from '../../web/components/search-bar.js';
import { Table } from '../../web/components/table.js';
import { countOf, countText } from './count-text.js';
import { LETTERS, TOMBSTONES } from './letter-columns.js';
import { REASONS, ReasonIcon, reasonLabel } from './reason.js';
import { formatFilter, formatRoute, isFiltered, NO_FILTER, parseSearch, searchText } from './route.js';
import type { Loaded } from './use-letters.js';
import { usePage, type Work } from './use-letters.js';

/** @param open opens the letter and moves the focus to it */
export function LetterList({ open }: { open: (id: string) => void }) {
  const { loaded, problem } = usePage();
  return (
    <>
      {problem !== undefined && (
        <p class="list-problem callout tone-failed wrap" role="alert">
          {problem}
        </p>
      )}
      {loaded && <ListedLetters loaded={loaded} open={open} />}
    </>
  );
}

function ListedLetters({ loaded, open }: { loaded: Loaded; open: (id: string) => void }) {
  const { route, more } = usePage();
  const { discarded, letters: listed, next, filter } = loaded;
  const { problems, find } = useFind();
  const query = formatFilter(filter, { discarded });
  const href = (letter: string) => formatRoute({ ...route, letter });
  return (
    <section class="list-part" aria-labelledby="list-title">
      <header class="spread">
        <h2 id="list-title" tabIndex={-1}>
          {countText(loaded)}
        </h2>
        <ListActions loaded={loaded} />
      </header>
      <SearchBar
        aria-label="Find dead letters"
        placeholder="Event ID, or event:refund.* since:24h cause:ship"
        text={route.eventId ?? ''}
        problems={problems}
        // The other filters are chips, and stay set.
        find={(text) => find(text, route)}
      >
        <Since />
      </SearchBar>
      <ReasonFilter loaded={loaded} find={find} />
      <div class="table-frame">
        {listed.length === 0 ? (
          <p class="no-match muted">
            <NothingListed loaded={loaded} />
          </p>
        ) : (
          <Table
            {...(discarded ? TOMBSTONES : LETTERS)}
            rows={listed}
            query={query}
            links={discarded ? undefined : { selected: route.letter, open, href }}
          />
        )}
        {next !== null && (
          <p class="more">
            <Button text="Show more" act={more} />
          </p>
        )}
      </div>
    </section>
  );
}

/** Applies a search to the list, and moves the focus to the first letter. */
function useFind() {
  const { loaded, reload, route, navigate } = usePage();
  const [problems, setProblems] = useState<readonly string[]>([]);
  const waiting = useRef(false);
  useEffect(() => {
    if (!waiting.current) return;
    waiting.current = false;
    focusSoon(loaded?.letters.length === 0 ? '#list-title' : '[data-row]');
  }, [loaded]);
  const find = async (text: string, kept = NO_FILTER) => {
    const { filter, problems: found } = parseSearch(text, kept);
    setProblems(found);
    if (found.length > 0) return;
    waiting.current = true;
    if (formatFilter({ ...route, ...filter }) === formatFilter(route)) await reload();
    else navigate({ ...filter, letter: undefined });
  };
  return { problems, find };
}

const TIMES = [
  ['', 'Any time'],
  ['1h', 'Last hour'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
] as const;

/** A link may have a time that is not in the list. */
function Since() {
  const { route, navigate } = usePage();
  const { since = '' } = route;
  const times = TIMES.some(([time]) => time === since) ? TIMES : [...TIMES, [since, since] as const];
  return (
    <select
      class="since"
      aria-label="First kept"
      value={since}
      onChange={(event) => navigate({ since: event.currentTarget.value || undefined, letter: undefined })}
    >
      {times.map(([time, label]) => (
        <option key={time} value={time}>
          {label}
        </option>
      ))}
    </select>
  );
}

function ListActions({ loaded }: { loaded: Loaded }) {
  const { reload, setWork } = usePage();
  const { filter: target, discarded, total } = loaded;
  const all = total === 1 ? '1' : `all ${total.toLocaleString('en')}`;
  const open = (kind: Work['kind']) => setWork({ kind, target, what: countText(loaded) });
  return (
    <p class="toolbar">
      <Button look="quiet small" text="Refresh" act={reload} />
      {total > 0 && !discarded && (
        <>
          <Button look="small" text={`Replay ${all}`} act={() => open('replay')} />
          <Button look="small danger" text={`Discard ${all}`} act={() => open('discard')} />
        </>
      )}
    </p>
  );
}

function NothingListed({ loaded: { filter, discarded, summary } }: { loaded: Loaded }) {
  const { navigate } = usePage();
  if (!isFiltered(filter))
    return discarded
      ? 'A discarded dead letter is listed with who discarded it, when and why. Its bytes are deleted.'
      : 'An authentic event that is not processed is kept here, with its exact bytes, until it is replayed or discarded.';
  const others = plural(summary.total, 'dead letter has', 'dead letters have');
  return (
    <>
      No {discarded ? 'discarded ' : ''}dead letter matches.
      {summary.total > 0 && ` ${others} another reason or event.`}{' '}
      <button type="button" class="link" onClick={() => navigate({ ...NO_FILTER, letter: undefined })}>
        Clear the filter
      </button>
    </>
  );
}

/** Shown with a count of 0, too. */
const ALWAYS: ReadonlySet<string> = new Set(['failed', 'unknown', 'invalid']);

function ReasonFilter({ loaded, find }: { loaded: Loaded; find: (text: string) => void }) {
  const { route, navigate } = usePage();
  const choices = [undefined, ...REASONS].map((reason) => {
    const pressed = route.reason === reason;
    return {
      label: reason === undefined ? 'All' : reasonLabel(reason),
      icon: reason !== undefined && <ReasonIcon reason={reason} />,
      count: countOf(loaded, reason),
      pressed,
      always: reason === undefined || ALWAYS.has(reason),
      // A cause belongs to one reason.
      choose: () => navigate({ reason: pressed ? undefined : reason, cause: undefined, letter: undefined }),
    };
  });
  const text = searchText(route);
  const toggle = () => navigate({ discarded: !route.discarded, letter: undefined });
  return (
    <FilterBar legend="Filter by reason" choices={choices} text={text} except="reason" find={find}>
      <Button look="small quiet discarded" aria-pressed={route.discarded} text="Discarded" act={toggle} />
    </FilterBar>
  );
}
