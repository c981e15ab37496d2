// A table whose rows have one height and are links: only rows in view are rendered, with one tab stop for all.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { onPlainClick } from './focus.js';
import { showInvisible } from './format.js';

export interface Column<Row> {
  /** Of its class in the stylesheet. The column `event` heads its row, and holds the link. */
  readonly name: string;
  readonly label: string;
  /** What the cell says; a narrow one may cut it, so it is the title too. */
  readonly text: (row: Row) => string | undefined;
  /** How it looks, if it is more than its text. */
  readonly cell?: (row: Row) => ComponentChildren;
  /** `muted`, `mono`. */
  readonly look?: string;
}

export function EventName({ name, sandbox }: { name: string; sandbox: boolean }) {
  return (
    <>
      <span>{showInvisible(name)}</span>
      {sandbox && <span class="tag">sandbox</span>}
    </>
  );
}

interface RowLinks {
  readonly selected: string | undefined;
  readonly href: (id: string) => string;
  readonly open: (id: string) => void;
}

interface TableProps<Row> {
  /** Its class in the stylesheet. */
  readonly name: string;
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** What the rows were found by. With another query they begin at the top, and none is new. */
  readonly query: string;
  /** Left out where rows cannot be opened. */
  readonly links?: RowLinks | undefined;
}

/** Some browsers forget that it is a table, because it is laid out as grids. */
const ROLES = {
  table: { role: 'table' },
  group: { role: 'rowgroup' },
  row: { role: 'row' },
  head: { role: 'columnheader', scope: 'col' },
  rowHead: { role: 'rowheader', scope: 'row' },
  cell: { role: 'cell' },
} as const;

let focusShown: (id: string) => void = () => {};

/** Moves the focus to a row, also to one out of view. */
export function focusRow(id: string): void {
  focusShown(id);
}

export function Table<Row extends { readonly id: string }>(props: TableProps<Row>) {
  const { name, caption, columns, rows, query, links } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const ids = useMemo(() => rows.map(({ id }) => id), [rows]);
  const [first, end] = useWindow(body, ids, query);
  const current = useCurrentRow(body, ids, links?.selected);
  const fresh = useFresh(ids, query);
  // The row that the Tab key reaches is there even when it is out of view.
  const shown = [...rows.entries()].filter(
    ([index, { id }]) => (index >= first && index < end) || id === current.id,
  );
  return (
    <table class={`rows ${name}`} {...ROLES.table} aria-rowcount={rows.length + 1}>
      <caption class="visually-hidden">{caption}</caption>
      <thead {...ROLES.group}>
        <tr {...ROLES.row} aria-rowindex={1}>
          {columns.map((column) => (
            <th key={column.name} class={`cell-${column.name}`} {...ROLES.head}>
              <span class="head">{column.label}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody
        ref={body}
        {...ROLES.group}
        style={{ height: `calc(${rows.length} * var(--row))` }}
        onKeyDown={current.move}
      >
        {shown.map(([index, row]) => (
          <tr
            key={row.id}
            class={`row${row.id === links?.selected ? ' selected' : ''}${fresh.has(row.id) ? ' fresh' : ''}`}
            style={{ top: `calc(${index} * var(--row))` }}
            aria-current={row.id === links?.selected || undefined}
            aria-rowindex={index + 2}
            {...ROLES.row}
          >
            {columns.map((column) => (
              <Cell key={column.name} row={row} column={column} links={links} current={current} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface CellProps<Row> {
  readonly row: Row;
  readonly column: Column<Row>;
  readonly links: RowLinks | undefined;
  readonly current: ReturnType<typeof useCurrentRow>;
}

function Cell<Row extends { readonly id: string }>({ row, column, links, current }: CellProps<Row>) {
  const { id } = row;
  const text = showInvisible(column.text(row) ?? '');
  const attributes = { class: `cell-${column.name} ${column.look ?? ''}`, title: text };
  const content = column.cell?.(row) ?? text;
  if (column.name !== 'event')
    return (
      <td {...attributes} {...ROLES.cell}>
        {content}
      </td>
    );
  return (
    <th {...attributes} {...ROLES.rowHead}>
      {links ? (
        // The stylesheet extends it over the whole row.
        <a
          class="row-link"
          href={links.href(id)}
          data-row={id}
          tabIndex={id === current.id ? 0 : -1}
          onFocus={() => current.set(id)}
          onClick={onPlainClick(() => links.open(id))}
        >
          {content}
        </a>
      ) : (
        <span>{content}</span>
      )}
    </th>
  );
}

/** Rows are rendered before they come into view, and in blocks, so that a scroll renders seldom. */
const BLOCK = 10;

/** The range of rows in view, in whichever box scrolls: that of the table, or the page. */
function useWindow(body: { readonly current: HTMLElement | null }, ids: readonly string[], query: string) {
  const [range, setRange] = useState<readonly [number, number]>([0, 4 * BLOCK]);
  const before = useRef({ ids, query });
  const measure = () => {
    const frame = body.current?.closest('.table-frame')?.getBoundingClientRect();
    const { top = 0, height = 0 } = body.current?.getBoundingClientRect() ?? {};
    // Hidden beside a detail, or empty.
    if (!frame || height === 0) return;
    const row = height / before.current.ids.length;
    const block = (y: number) => Math.floor((y - top) / row / BLOCK) * BLOCK;
    const [first, end] = [
      block(Math.max(frame.top, 0)) - BLOCK,
      block(Math.min(frame.bottom, innerHeight)) + 2 * BLOCK,
    ];
    setRange((old) => (old[0] === first && old[1] === end ? old : [first, end]));
  };
  useEffect(() => {
    addEventListener('scroll', measure, { capture: true, passive: true });
    addEventListener('resize', measure);
    return () => {
      removeEventListener('scroll', measure, { capture: true });
      removeEventListener('resize', measure);
    };
  }, []);
  useLayoutEffect(() => {
    if (before.current.query === query) keepPlace(body.current, before.current.ids, ids);
    else body.current?.closest('.table-frame')?.scrollTo(0, 0);
    before.current = { ids, query };
    measure();
  });
  return range;
}

/** Rows that come above what someone looks at, or points at, must not move it. */
function keepPlace(body: HTMLElement | null, before: readonly string[], ids: readonly string[]): void {
  const frame = body?.closest('.table-frame');
  if (!body || !frame || before === ids || !(frame.scrollTop > 0 || body.matches(':hover'))) return;
  const row = body.getBoundingClientRect().height / ids.length;
  const at = Math.floor(frame.scrollTop / row);
  const now = ids.indexOf(before[at] ?? '');
  if (now > at) frame.scrollTop += (now - at) * row;
}

/** The row that the Tab key reaches: the one that had the focus last, else the one that is open, or the first. */
function useCurrentRow(
  body: { readonly current: HTMLElement | null },
  ids: readonly string[],
  selected: string | undefined,
) {
  const [active, set] = useState(selected);
  const [wanted, want] = useState<{ readonly row: string }>();
  const known = (id: string | undefined) => (id !== undefined && ids.includes(id) ? id : undefined);
  const id = known(active) ?? known(selected) ?? ids[0];
  focusShown = (row) => {
    set(row);
    // Another object, also for the same row.
    want({ row });
  };
  const find = (row: string) => body.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(row)}"]`);
  useLayoutEffect(() => {
    const link = wanted && find(wanted.row);
    link?.closest('tr')?.scrollIntoView({ block: 'nearest' });
    link?.focus({ preventScroll: true });
  }, [wanted]);
  useLayoutEffect(() => {
    if (selected === undefined) return;
    set(selected);
    find(selected)?.closest('tr')?.scrollIntoView({ block: 'nearest' });
  }, [selected]);
  const move = (event: KeyboardEvent) => {
    const at = ids.indexOf(id ?? '');
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: ids.length - 1 }[event.key];
    const next = to === undefined ? undefined : ids[to];
    if (next === undefined) return;
    event.preventDefault();
    focusShown(next);
  };
  return { id, set, move };
}

const FRESH_MS = 1_000;

/** What came since the table was rendered before; tinted for a moment. */
function useFresh(ids: readonly string[], query: string): ReadonlySet<string> {
  const before = useRef({ ids, query, known: new Set(ids) });
  const fresh = useRef(new Set<string>());
  if (before.current.ids !== ids) {
    const { known } = before.current;
    const came = before.current.query === query ? ids.filter((id) => !known.has(id)) : [];
    before.current = { ids, query, known: new Set(ids) };
    for (const id of came) fresh.current.add(id);
    if (came.length > 0) setTimeout(() => came.forEach((id) => void fresh.current.delete(id)), FRESH_MS);
  }
  return fresh.current;
}
