// The letters that match: their number, the filter by reason, actions on all, and the table.
import { useContext } from 'preact/hooks';
import { Button } from '../../pages/components/button.js';
import { FilterBar } from '../../pages/components/list.js';
import { countOf, countText, plural } from './count-text.js';
import { LetterTable, TombstoneTable } from './letter-table.js';
import { ReasonIcon, reasonLabel } from './reason.js';
import { isFiltered, type Navigate, NO_FILTER, REASONS, type Route } from './route.js';
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
    <div class="list">
      {problem !== undefined && (
        <p class="list-problem callout tone-failed wrap" role="alert">
          {problem}
        </p>
      )}
      {loaded && <ListedLetters loaded={loaded} {...props} />}
    </div>
  );
}

interface ListedLettersProps extends LetterListProps {
  readonly loaded: Loaded;
}

function ListedLetters({ loaded, letters, route, navigate, open }: ListedLettersProps) {
  const { discarded, letters: listed, next } = loaded;
  return (
    <section class="list-part" aria-labelledby="list-title">
      <header class="spread list-header">
        <h2 id="list-title" tabIndex={-1}>
          {capitalize(countText(loaded))}
        </h2>
        <ListActions loaded={loaded} letters={letters} />
      </header>
      <ReasonFilter loaded={loaded} route={route} navigate={navigate} />
      <div class="table-frame">
        {listed.length === 0 && <NothingListed loaded={loaded} navigate={navigate} />}
        {listed.length > 0 && discarded && <TombstoneTable letters={listed} />}
        {listed.length > 0 && !discarded && (
          <LetterTable letters={listed} selected={route.letter} open={open} />
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
          <Button look="small" act={() => begin({ kind: 'discard', target, what })}>
            Discard {all}
          </Button>
          <Button look="small" act={() => begin({ kind: 'replay', target, what })}>
            Replay {all}
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
}

function ReasonFilter({ loaded, route, navigate }: ReasonFilterProps) {
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
    <FilterBar legend="Filter by reason" choices={[choiceOf('All', undefined), ...reasons]}>
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
