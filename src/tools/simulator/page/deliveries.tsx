// The deliveries: search, status filter, hold and clear, and the table.
import { useMemo, useState } from 'preact/hooks';
import { Button } from '../../web/components/button.js';
import { useLoaded } from '../../web/components/columns.js';
import { DialogButton } from '../../web/components/dialog.js';
import { focusSoon } from '../../web/components/focus.js';
import { Form } from '../../web/components/form.js';
import { plural } from '../../web/components/format.js';
import { Icon } from '../../web/components/icon.js';
import { FilterBar, SearchBar } from '../../web/components/search-bar.js';
import { Table } from '../../web/components/table.js';
import { api, type Row } from './api.js';
import { CAPTURE_COLUMNS, COLUMNS } from './delivery-columns.js';
import { formatRoute } from './route.js';
import { anyStatus, matches, parseSearch, withStatus } from './search.js';
import { useSimulator } from './simulator.js';
import { type ShownStatus, STATUS_LABELS, shownStatus } from './texts.js';

type Found = ReturnType<typeof useFound>;

/** The rows that match the search: with any status, and with the chosen ones. */
export function useFound() {
  const { rows, route, navigate } = useSimulator();
  const { query } = route;
  const { listed, ...hold } = useHold(rows);
  const search = useMemo(() => parseSearch(query), [query]);
  const payload = search.tokens.get('payload')?.at(-1);
  const asking = () => (payload === undefined ? Promise.resolve(undefined) : api.withPayload(payload));
  const { data: ids } = useLoaded(asking, [payload, payload !== undefined && rows.length]);
  const [ofAnyStatus, shown] = useMemo(() => {
    const wide = anyStatus(search);
    const found = listed.filter((row) => matches(wide, row) && (!ids || ids.has(row.id)));
    return [found, found.filter((row) => matches(search, row))];
  }, [listed, search, ids]);
  const find = (text: string) => navigate({ query: text });
  return { search, ofAnyStatus, shown, hold, find };
}

/** @param open opens the delivery and moves the focus to it */
export function Deliveries({ found, open }: { found: Found; open: (id: string) => void }) {
  const { rows, older, loadOlder, route, settings } = useSimulator();
  const { query, delivery: selected } = route;
  const { search, shown, hold, find } = found;
  const href = (id: string) => formatRoute({ ...route, delivery: id, attempt: undefined });
  return (
    <section class="list-part" aria-labelledby="list-title">
      <header class="spread">
        <h2 id="list-title" tabIndex={-1}>
          Deliveries
        </h2>
        <div class="toolbar">
          <Button look="quiet" label={hold.held ? undefined : 'Hold new deliveries'} act={hold.toggle}>
            {hold.held ? `Show ${hold.waiting} new` : 'Hold new'}
          </Button>
          <DialogButton title="Clear history" look="quiet">
            <ClearHistory hold={hold} />
          </DialogButton>
        </div>
      </header>
      <SearchBar
        live
        aria-label="Search deliveries"
        placeholder="Search, or event: payload: webhook: code: id: status:"
        text={query}
        problems={search.problems}
        find={find}
      />
      <StatusFilter found={found} />
      <div class="table-frame">
        {shown.length > 0 ? (
          <Table
            name="deliveries"
            caption="Deliveries, newest first"
            columns={settings?.capture ? CAPTURE_COLUMNS : COLUMNS}
            rows={shown}
            query={query}
            newestFirst
            links={{ selected, open, href }}
          />
        ) : (
          <p class="no-match muted">
            No deliveries match this search.{' '}
            <button type="button" class="link" onClick={() => find('')}>
              Show all {rows.length.toLocaleString('en')}
            </button>
          </p>
        )}
        {older > 0 && (
          <p class="more">
            {rows.length.toLocaleString('en')} of {(rows.length + older).toLocaleString('en')} shown{' '}
            <Button look="small" text="Load older" act={loadOlder} />
          </p>
        )}
      </div>
    </section>
  );
}

/** Holds new deliveries back, while listed ones still change. */
function useHold(rows: readonly Row[]) {
  const [held, setHeld] = useState<readonly Row[]>();
  const listed = useMemo(() => {
    if (!held) return rows;
    const now = new Map(rows.map((row) => [row.id, row]));
    // A delivery that the simulator removed stays listed.
    return held.map((row) => now.get(row.id) ?? row);
  }, [held, rows]);
  const known = held && new Set(held.map(({ id }) => id));
  return {
    listed,
    held: held !== undefined,
    /** How many new deliveries are not listed yet. */
    waiting: known ? rows.filter(({ id }) => !known.has(id)).length : 0,
    toggle: () => setHeld(held ? undefined : rows),
  };
}

/** Asks the simulator for the counts, because the page may have loaded only some deliveries. */
function ClearHistory({ hold }: Pick<Found, 'hold'>) {
  const { rows, route, navigate } = useSimulator();
  const counting = () => Promise.all([api.count({ status: 'delivered,failed,cancelled' }), api.count()]);
  const [finished = 0, total = 0] = useLoaded(counting, [rows]).data ?? [];
  const pending = total - finished;
  const clear = async () => {
    await api.clearHistory();
    // A held list would still show them.
    if (hold.held) hold.toggle();
    if (rows.some(({ id, next_attempt_at: next }) => id === route.delivery && next === null))
      navigate({ delivery: undefined, attempt: undefined });
    focusSoon('#main');
  };
  return (
    <Form verb="Clear" danger submit={clear} cancelVerb="Keep" disabled={finished === 0}>
      <p>
        {finished === 0
          ? 'No delivery is finished yet.'
          : `Delete ${plural(finished, 'finished delivery', 'finished deliveries')}?`}
      </p>
      {pending > 0 && (
        <p>{plural(pending, 'pending delivery stays', 'pending deliveries stay')}, and will be retried.</p>
      )}
    </Form>
  );
}

/** The first status of a choice sets its icon; `always` shows the choice with a count of 0. */
const CHOICES: readonly (readonly [label: string, statuses: readonly ShownStatus[], always: boolean])[] = [
  ['All', [], true],
  ['Delivered', ['delivered'], true],
  ['Retrying', ['retrying'], true],
  ['Failed', ['failed'], true],
  [STATUS_LABELS.wrongly_accepted, ['wrongly_accepted'], false],
  [STATUS_LABELS.ignored, ['ignored'], false],
  [STATUS_LABELS.kept, ['kept'], false],
  ['In progress', ['in_flight', 'pending'], false],
  ['Cancelled', ['cancelled'], false],
];

function StatusFilter({ found: { search, ofAnyStatus, find } }: { found: Found }) {
  const { route, settings } = useSimulator();
  const { query } = route;
  const chosen = search.tokens.get('status') ?? [];
  const all = ofAnyStatus.map(shownStatus);
  const choices = CHOICES.map(([label, statuses, always]) => {
    const [icon] = statuses;
    const pressed = chosen.length === statuses.length && statuses.every((one) => chosen.includes(one));
    return {
      label,
      icon: icon && <Icon name={icon} tone={icon} />,
      count: icon ? all.filter((status) => statuses.includes(status)).length : all.length,
      pressed,
      // The real service retries, and does not tell when.
      always: always && !(settings?.capture && icon === 'retrying'),
      choose: () => find(withStatus(query, pressed ? [] : statuses)),
    };
  });
  return <FilterBar legend="Filter by status" choices={choices} text={query} except="status" find={find} />;
}
