// The deliveries: search, status filter and table, and the keys that move through it.
import { memo } from 'preact/compat';
import { useMemo, useRef, useState } from 'preact/hooks';
import { Button, useAction } from '../pages/components/button.js';
import { focusedRow } from '../pages/components/focus.js';
import { rowKeys } from '../pages/components/row-keys.js';
import { api, type Row } from './api.js';
import { ClearHistory } from './clear-history.js';
import { DeliveryTable } from './delivery-table.js';
import type { Navigate, Route } from './route.js';
import { anyStatus, matches, parseSearch } from './search.js';
import { SearchField, StatusFilter } from './search-bar.js';
import { useShortcuts } from './shortcuts.js';

interface DeliveriesProps {
  readonly rows: readonly Row[];
  readonly route: Route;
  readonly navigate: Navigate;
  /** Opens the delivery and moves the focus to it. */
  readonly open: (id: string) => void;
}

export const Deliveries = memo(({ rows, route, navigate, open }: DeliveriesProps) => {
  const { query, delivery: selected } = route;
  const input = useRef<HTMLInputElement>(null);
  const { listed, ...hold } = useHold(rows);
  const search = useMemo(() => parseSearch(query), [query]);
  const [found, shown] = useMemo(() => {
    const ofAnyStatus = anyStatus(search);
    const rowsFound = listed.filter((row) => matches(ofAnyStatus, row));
    return [rowsFound, rowsFound.filter((row) => matches(search, row))];
  }, [listed, search]);
  useRowKeys(shown, selected, navigate);
  useShortcuts({ p: hold.toggle, '/': () => input.current?.focus() });
  const forget = (ids: ReadonlySet<string>) => {
    // A list that is held would still show them.
    if (hold.held) hold.toggle();
    if (selected && ids.has(selected)) navigate({ delivery: undefined });
  };
  const find = (text: string) => navigate({ query: text });
  return (
    <section class="list-part" aria-labelledby="deliveries-title">
      <ListHeader rows={rows} hold={hold} cleared={forget} />
      <SearchField query={query} problems={search.problems} find={find} input={input} />
      <StatusFilter rows={found} search={search} query={query} find={find} />
      <div class="table-frame">
        {shown.length > 0 ? (
          <DeliveryTable rows={shown} selected={selected} open={open} />
        ) : (
          <p class="no-match muted">
            No deliveries match this search.{' '}
            <button type="button" class="link" onClick={() => find('')}>
              Show all {listed.length}
            </button>
          </p>
        )}
      </div>
    </section>
  );
});

interface ListHeaderProps extends Pick<DeliveriesProps, 'rows'> {
  readonly hold: Omit<ReturnType<typeof useHold>, 'listed'>;
  readonly cleared: (ids: ReadonlySet<string>) => void;
}

function ListHeader({ rows, hold: { held, waiting, toggle }, cleared }: ListHeaderProps) {
  return (
    <header class="spread">
      <h2 id="deliveries-title">Deliveries</h2>
      <div class="toolbar">
        <Button look="quiet" act={toggle}>
          {held ? `Show ${waiting} new` : 'Hold new deliveries'}
        </Button>
        <ClearHistory rows={rows} cleared={cleared} />
      </div>
    </header>
  );
}

/** While new deliveries are held back, listed ones still change. */
function useHold(rows: readonly Row[]) {
  const [held, setHeld] = useState<readonly Row[]>();
  const listed = useMemo(() => (held ? refresh(held, rows) : rows), [held, rows]);
  const known = held && new Set(held.map(({ id }) => id));
  return {
    listed,
    held: held !== undefined,
    /** How many new deliveries are not listed yet. */
    waiting: known ? rows.filter(({ id }) => !known.has(id)).length : 0,
    toggle: () => setHeld(held ? undefined : rows),
  };
}

/** The same deliveries as they are now; one that the simulator has removed, as it was. */
function refresh(held: readonly Row[], rows: readonly Row[]): readonly Row[] {
  const now = new Map(rows.map((row) => [row.id, row]));
  return held.map((row) => now.get(row.id) ?? row);
}

/** Next, previous, and retry or resend. */
function useRowKeys(rows: readonly Row[], selected: string | undefined, navigate: Navigate): void {
  const resend = useAction(() => {
    const current = selected ?? focusedRow();
    const row = rows.find(({ id }) => id === current);
    return row && (row.next_attempt_at === null ? api.resend(row.id) : api.retryNow(row.id));
  });
  const ids = rows.map(({ id }) => id);
  useShortcuts({ ...rowKeys(ids, selected, (id) => navigate({ delivery: id })), r: resend });
}
