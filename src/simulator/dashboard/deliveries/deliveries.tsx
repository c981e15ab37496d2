// The deliveries: search, status filter and table, and the keys that move through it.
import { memo } from 'preact/compat';
import { useMemo, useRef, useState } from 'preact/hooks';
import { api, type Row } from '../api/api.js';
import { Button, useAction } from '../components/button.js';
import { focusDelivery, focusedDelivery } from '../components/focus.js';
import { useShortcuts } from '../components/shortcuts.js';
import type { Navigate, Route } from '../route.js';
import { DeliveryTable } from './delivery-table.js';
import { matches, parseSearch } from './search.js';
import { SearchField, StatusFilter } from './search-bar.js';

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
  const { listed, paused, waiting, toggle } = usePause(rows);
  const search = useMemo(() => parseSearch(query), [query]);
  const shown = useMemo(() => listed.filter((row) => matches(search, row)), [listed, search]);
  useRowKeys(shown, selected, navigate);
  useShortcuts({ p: toggle, '/': () => input.current?.focus() });
  const find = (text: string) => navigate({ query: text });
  return (
    <section class="deliveries-part" aria-labelledby="deliveries-title">
      <header class="spread">
        <h2 id="deliveries-title">Deliveries</h2>
        <Button look="quiet" icon={paused ? 'play' : 'pause'} aria-pressed={paused} act={toggle}>
          {paused ? `Paused, ${waiting} new` : 'Pause'}
        </Button>
      </header>
      <SearchField query={query} problems={search.problems} find={find} input={input} />
      <StatusFilter rows={listed} search={search} query={query} find={find} />
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

/** While paused, listed deliveries still change, and new ones wait. */
function usePause(rows: readonly Row[]) {
  const [held, setHeld] = useState<readonly Row[]>();
  const listed = useMemo(() => (held ? refresh(held, rows) : rows), [held, rows]);
  const known = held && new Set(held.map(({ id }) => id));
  return {
    listed,
    paused: held !== undefined,
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
  const current = () => selected ?? focusedDelivery();
  const move = (step: number) => {
    const index = rows.findIndex(({ id }) => id === current());
    const next = rows[index === -1 ? 0 : Math.min(rows.length - 1, Math.max(0, index + step))];
    if (!next) return;
    focusDelivery(next.id);
    if (selected) navigate({ delivery: next.id });
  };
  const resend = useAction(() => {
    const row = rows.find(({ id }) => id === current());
    return row && (row.next_attempt_at === null ? api.resend(row.id) : api.retryNow(row.id));
  });
  useShortcuts({ j: () => move(1), k: () => move(-1), r: resend });
}
