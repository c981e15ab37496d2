// The letters that match: their number, the search, the filter by reason, actions on all, and the table.
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../pages/components/button.js';
import { focusSoon } from '../../pages/components/focus.js';
import { plural } from '../../pages/components/format.js';
import { FilterBar, SearchBar } from '../../pages/components/search-bar.js';
import { Table } from '../../pages/components/table.js';
import { countOf, countText } from './count-text.js';
import { LETTER_COLUMNS, TOMBSTONE_COLUMNS } from './letter-columns.js';
import { ReasonIcon, reasonLabel } from './reason.js';
import {
  type Filter,
  filterOf,
  formatFilter,
  formatRoute,
  isFiltered,
  type Navigate,
  NO_FILTER,
  parseSearch,
  REASONS,
  type Route,
  searchText,
} from './route.js';
import type { Letters, Loaded } from './use-letters.js';
import { WorkContext } from './work.js';

interface LetterListProps {
  readonly letters: Letters;
  readonly route: Route;
  readonly navigate: Navigate;
  /** Opens the letter and moves the focus to it. */
  readonly open: (id: string) => void;
}

export function LetterList(props: LetterListProps) {
  const { loaded, problem } = props.letters;
  return (
    <>
      {problem !== undefined && (
        <p class="list-problem callout tone-failed wrap" role="alert">
          {problem}
        </p>
      )}
      {loaded && <ListedLetters loaded={loaded} {...props} />}
    </>
  );
}

interface ListedLettersProps extends LetterListProps {
  readonly loaded: Loaded;
}

function ListedLetters({ loaded, letters, route, navigate, open }: ListedLettersProps) {
  const { discarded, letters: listed, next, filter } = loaded;
  const { problems, find, add } = useFind({ letters, route, navigate });
  const links = {
    selected: route.letter,
    open,
    href: (letter: string) => formatRoute({ ...route, letter }),
  };
  const query = formatFilter(filter, { discarded: String(discarded) });
  return (
    <section class="list-part" aria-labelledby="list-title">
      <header class="spread">
        <h2 id="list-title" tabIndex={-1}>
          {capitalize(countText(loaded))}
        </h2>
        <ListActions loaded={loaded} letters={letters} />
      </header>
      <SearchBar
        label="Find dead letters"
        placeholder="Event ID, or event:refund.* since:24h key:"
        text={route.eventId ?? ''}
        problems={problems}
        find={add}
      >
        <Since route={route} navigate={navigate} />
      </SearchBar>
      <ReasonFilter loaded={loaded} route={route} navigate={navigate} find={find} />
      <div class="table-frame">
        {listed.length === 0 && <NothingListed loaded={loaded} navigate={navigate} />}
        {listed.length > 0 && discarded && (
          <Table
            name="tombstones"
            caption="Discarded dead letters, in the order of their arrival"
            columns={TOMBSTONE_COLUMNS}
            rows={listed}
            query={query}
          />
        )}
        {listed.length > 0 && !discarded && (
          <Table
            name="letters"
            caption="Dead letters, oldest first"
            columns={LETTER_COLUMNS}
            rows={listed}
            query={query}
            links={links}
          />
        )}
        {next !== null && (
          <p class="more">
            <Button act={letters.more}>Show more</Button>
          </p>
        )}
      </div>
    </section>
  );
}

/** Applies a search to the list, and moves the focus to the first letter. */
function useFind({ letters, route, navigate }: Pick<ListedLettersProps, 'letters' | 'route' | 'navigate'>) {
  const [problems, setProblems] = useState<readonly string[]>([]);
  const waiting = useRef(false);
  const { loaded, reload } = letters;
  useEffect(() => {
    if (!waiting.current) return;
    waiting.current = false;
    focusSoon(loaded?.letters.length === 0 ? '#list-title' : '[data-row]');
  }, [loaded]);
  const find = async (text: string, kept: Partial<Filter> = {}) => {
    const { filter, problems: found } = parseSearch(text);
    setProblems(found);
    if (found.length > 0) return;
    waiting.current = true;
    const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
    const wanted = { ...filter, ...kept, ...given };
    if (formatFilter({ ...filterOf(route), ...wanted }) === formatFilter(route)) await reload();
    else navigate({ ...wanted, letter: undefined });
  };
  const { event, keyId, since } = route;
  return { problems, find, add: (text: string) => find(text, { event, keyId, since }) };
}

const TIMES = [
  ['', 'Any time'],
  ['1h', 'Last hour'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
] as const;

/** A link may hold a time that is not in the list. */
function Since({ route: { since = '' }, navigate }: Pick<ListedLettersProps, 'route' | 'navigate'>) {
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

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function ListActions({ loaded, letters }: Pick<ListedLettersProps, 'loaded' | 'letters'>) {
  const begin = useContext(WorkContext);
  const { filter: target, discarded, total } = loaded;
  const what = countText(loaded);
  const all = total === 1 ? '1' : `all ${total.toLocaleString('en')}`;
  return (
    <p class="cluster">
      <Button look="quiet small" act={letters.reload}>
        Update
      </Button>
      {total > 0 && !discarded && (
        <>
          <Button look="small" act={() => begin({ kind: 'replay', target, what })}>
            Replay {all}
          </Button>
          <Button look="small danger" act={() => begin({ kind: 'discard', target, what })}>
            Discard {all}
          </Button>
        </>
      )}
    </p>
  );
}

/** The empty state. */
function NothingListed({ loaded, navigate }: Pick<ListedLettersProps, 'loaded' | 'navigate'>) {
  const { filter, discarded, summary } = loaded;
  if (isFiltered(filter)) {
    return (
      <p class="no-match muted">
        No {discarded ? 'discarded ' : ''}dead letter matches.
        {summary.total > 0 &&
          ` ${plural(summary.total, 'dead letter has', 'dead letters have')} another reason or event.`}{' '}
        <button type="button" class="link" onClick={() => navigate({ ...NO_FILTER, letter: undefined })}>
          Clear the filter
        </button>
      </p>
    );
  }
  return (
    <div class="no-match stack">
      <p>
        <strong>{discarded ? 'Nothing was discarded' : 'No dead letters'}</strong>
      </p>
      <p class="muted">
        {discarded
          ? 'Of a discarded dead letter the page lists who discarded it, when and why. Its bytes are deleted.'
          : 'An authentic event that is not processed is kept here, with its exact bytes, until it is replayed or discarded.'}
      </p>
    </div>
  );
}

/** Shown even when there are none. */
const ALWAYS: ReadonlySet<string> = new Set(['failed', 'unknown', 'invalid']);

interface ReasonFilterProps {
  readonly loaded: Loaded;
  readonly route: Route;
  readonly navigate: Navigate;
  readonly find: (text: string) => void;
}

function ReasonFilter({ loaded, route, navigate, find }: ReasonFilterProps) {
  const choiceOf = (label: string, reason: string | undefined) => {
    const pressed = route.reason === reason;
    const choose = () => navigate({ reason: pressed ? undefined : reason, letter: undefined });
    return { label, count: countOf(loaded, reason), pressed, choose };
  };
  const reasons = REASONS.map((reason) => ({
    ...choiceOf(reasonLabel(reason), reason),
    icon: <ReasonIcon reason={reason} />,
    always: ALWAYS.has(reason),
  })).filter(({ always, pressed, count }) => always || pressed || count > 0);
  return (
    <FilterBar
      legend="Filter by reason"
      choices={[choiceOf('All', undefined), ...reasons]}
      text={searchText(route)}
      except="reason"
      find={find}
    >
      <Button
        look="small quiet discarded"
        aria-pressed={route.discarded}
        act={() => navigate({ discarded: !route.discarded, letter: undefined })}
      >
        Discarded
      </Button>
    </FilterBar>
  );
}
