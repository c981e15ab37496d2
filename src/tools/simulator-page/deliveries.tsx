// The deliveries: search, status filter, hold and clear, table, and the keys of its rows.

import type { RefObject } from 'preact';
import { memo } from 'preact/compat';
import { useMemo, useRef, useState } from 'preact/hooks';
import { Button, useAction } from '../pages/components/button.js';
import { DialogButton } from '../pages/components/dialog.js';
import { focus, focusedRow, rowKeys } from '../pages/components/focus.js';
import { Form } from '../pages/components/form.js';
import { Icon } from '../pages/components/icon.js';
import { FilterBar } from '../pages/components/list.js';
import { api, type DeliveryStatus, type Row } from './api.js';
import { DeliveryTable } from './delivery-table.js';
import type { Navigate, Route } from './route.js';
import { anyStatus, matches, parseSearch, type Search, withStatus } from './search.js';
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

const FINISHED: ReadonlySet<DeliveryStatus> = new Set(['delivered', 'failed', 'cancelled']);

interface ClearHistoryProps {
  readonly rows: readonly Row[];
  /** Called with what was deleted. */
  readonly cleared: (ids: ReadonlySet<string>) => void;
}

function ClearHistory({ rows, cleared }: ClearHistoryProps) {
  return (
    <DialogButton title="Clear history" text="Clear history" look="quiet">
      {(close) => <Question rows={rows} cleared={cleared} close={close} />}
    </DialogButton>
  );
}

function Question({ rows, cleared, close }: ClearHistoryProps & { close: () => void }) {
  const finished = rows.filter(({ status }) => FINISHED.has(status)).map(({ id }) => id);
  const pending = rows.length - finished.length;
  const clear = async () => {
    await api.clearHistory();
    close();
    cleared(new Set(finished));
    focus('#main');
  };
  return (
    <Form verb="Clear" submit={clear} cancel={close} cancelVerb="Keep" disabled={finished.length === 0}>
      <p>{question(finished.length)}</p>
      {pending > 0 && <p>{remark(pending)}</p>}
    </Form>
  );
}

function question(finished: number): string {
  if (finished === 0) return 'No delivery is finished yet.';
  return finished === 1 ? 'Delete 1 finished delivery?' : `Delete ${finished} finished deliveries?`;
}

function remark(pending: number): string {
  return pending === 1
    ? '1 pending delivery stays, and is retried.'
    : `${pending} pending deliveries stay, and are retried.`;
}

interface SearchFieldProps {
  readonly query: string;
  readonly problems: readonly string[];
  readonly find: (query: string) => void;
  readonly input: RefObject<HTMLInputElement | null>;
}

function SearchField({ query, problems, find, input }: SearchFieldProps) {
  return (
    <search class="search stack">
      <input
        ref={input}
        type="search"
        value={query}
        aria-label="Search deliveries"
        aria-describedby="search-help"
        placeholder="Search, or status:failed event:transaction.*"
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => find(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
      />
      <p id="search-help" class={problems.length > 0 ? 'note problem' : 'note'} aria-live="polite">
        {problems.join(' ') || (
          <>
            Text, or <code>status:</code> <code>event:</code> <code>webhook:</code> <code>code:</code>{' '}
            <code>id:</code>
          </>
        )}
      </p>
    </search>
  );
}

interface Group {
  readonly label: string;
  /** The first one gives the icon. */
  readonly statuses: readonly [DeliveryStatus, ...DeliveryStatus[]];
  /** Shown even when there are none. */
  readonly always: boolean;
}

const GROUPS: readonly Group[] = [
  { label: 'Delivered', statuses: ['delivered'], always: true },
  { label: 'Retrying', statuses: ['retrying'], always: true },
  { label: 'Failed', statuses: ['failed'], always: true },
  { label: 'In progress', statuses: ['in_flight', 'pending'], always: false },
  { label: 'Cancelled', statuses: ['cancelled'], always: false },
];

interface StatusFilterProps extends Pick<SearchFieldProps, 'query' | 'find'> {
  /** What the search finds, of any status. */
  readonly rows: readonly Row[];
  readonly search: Search;
}

function StatusFilter({ rows, search, query, find }: StatusFilterProps) {
  const chosen = search.tokens.get('status') ?? [];
  const all = {
    label: 'All',
    count: rows.length,
    pressed: chosen.length === 0,
    choose: () => find(withStatus(query, [])),
  };
  const groups = GROUPS.map(({ label, statuses, always }) => {
    const pressed = chosen.length === statuses.length && statuses.every((one) => chosen.includes(one));
    return {
      label,
      always,
      pressed,
      count: rows.filter(({ status }) => statuses.includes(status)).length,
      choose: () => find(withStatus(query, pressed ? [] : statuses)),
      icon: (
        <span class={`tone-${statuses[0]}`}>
          <Icon name={statuses[0]} />
        </span>
      ),
    };
  }).filter(({ always, count, pressed }) => always || count > 0 || pressed);
  return <FilterBar legend="Filter by status" choices={[all, ...groups]} />;
}
