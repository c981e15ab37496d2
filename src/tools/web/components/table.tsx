// A table of links with a fixed row height: it renders only rows in view, and has one tab stop.
import type { AriaRole, ComponentChildren, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { onPlainClick } from './focus.js';
import { showInvisible } from './format.js';

export interface Column<Row> {
  /** The class in the stylesheet is `cell-NAME`. The column `event` is the row header and has the link. */
  readonly name: string;
  readonly label: string;
  /** The text of the cell, and its tooltip: a narrow cell truncates it. */
  readonly text: (row: Row) => string | undefined;
  /** The content, if it is more than the text. */
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
  readonly name: string;
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** When it changes, the table scrolls to the top and highlights no row as new. */
  readonly query: string;
  /** A row below all known ones is old, and is not highlighted as new. */
  readonly newestFirst?: boolean;
  readonly links?: RowLinks | undefined;
}

/** Some browsers drop the table semantics, because the rows are CSS grids. */
const as = (role: AriaRole) => ({ role });

/** Focuses a row, even one out of view. The table sets it. */
export let focusRow: (id: string) => void = () => {};

export function Table<Row extends { readonly id: string }>(props: TableProps<Row>) {
  const { name, caption, columns, rows, query, newestFirst, links } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const ids = useMemo(() => rows.map(({ id }) => id), [rows]);
  const [first, end] = useWindow(body, ids, query);
  const current = useCurrentRow(body, ids, links?.selected);
  const newRows = useNewRows(ids, query, newestFirst);
  // The tab stop is rendered even when it is out of view.
  const shown = [...rows.entries()].filter(
    ([index, { id }]) => (index >= first && index < end) || id === current.id,
  );
  return (
    <table class={`rows ${name}`} {...as('table')} aria-rowcount={rows.length + 1}>
      <caption class="visually-hidden">{caption}</caption>
      <thead {...as('rowgroup')}>
        <tr {...as('row')} aria-rowindex={1}>
          {columns.map((column) => (
            <th key={column.name} class={`cell-${column.name}`} scope="col" {...as('columnheader')}>
              <span class="head">{column.label}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody
        ref={body}
        {...as('rowgroup')}
        style={{ height: `calc(${rows.length} * var(--row))` }}
        onKeyDown={current.move}
      >
        {shown.map(([index, row]) => (
          <TableRow
            key={row.id}
            {...{ row, index, columns, links, focused: current.set }}
            isTabStop={row.id === current.id}
            isNew={newRows.includes(row.id)}
          />
        ))}
      </tbody>
    </table>
  );
}

interface RowProps<Row> extends Pick<TableProps<Row>, 'columns' | 'links'> {
  readonly row: Row;
  readonly index: number;
  readonly focused: (id: string) => void;
  readonly isTabStop: boolean;
  /** Matters only when the row is added. */
  readonly isNew: boolean;
}

/** Renders again only when one of its props changes, so not when another row scrolls into view. */
function TableRow<Row extends { readonly id: string }>({ isNew, ...props }: RowProps<Row>) {
  const { row, index, columns, links, focused, isTabStop } = props;
  const [isFresh, setFresh] = useState(isNew);
  const isSelected = row.id === links?.selected;
  const linked = (content: ComponentChildren) =>
    links ? (
      // The stylesheet extends the link over the whole row.
      <a
        class="row-link"
        href={links.href(row.id)}
        data-row={row.id}
        tabIndex={isTabStop ? 0 : -1}
        onFocus={() => focused(row.id)}
        onClick={onPlainClick(() => links.open(row.id))}
      >
        {content}
      </a>
    ) : (
      <span>{content}</span>
    );
  const cellOf = ({ name, look = '', text, cell }: Column<Row>) => {
    const title = showInvisible(text(row) ?? '');
    const content = cell?.(row) ?? title;
    const attributes = { class: `cell-${name} ${look}`, title };
    return name === 'event' ? (
      <th key={name} {...attributes} scope="row" {...as('rowheader')}>
        {linked(content)}
      </th>
    ) : (
      <td key={name} {...attributes} {...as('cell')}>
        {content}
      </td>
    );
  };
  return useMemo(
    () => (
      <tr
        class={`row${isSelected ? ' selected' : ''}${isFresh ? ' fresh' : ''}`}
        style={{ top: `calc(${index} * var(--row))` }}
        aria-current={isSelected || undefined}
        aria-rowindex={index + 2}
        onAnimationEnd={() => setFresh(false)}
        {...as('row')}
      >
        {columns.map(cellOf)}
      </tr>
    ),
    [isFresh, ...Object.values(props)],
  );
}

/** How many rows render before and after those in view. Each costs time in every frame of a fast scroll. */
const AHEAD = 3;

/** The range of rows in view, whether the table or the page scrolls. */
function useWindow(body: RefObject<HTMLElement | null>, ids: readonly string[], query: string) {
  const [range, setRange] = useState<readonly [number, number]>([0, 30]);
  const before = useRef({ ids, query });
  const measure = () => {
    const frame = body.current?.closest('.table-frame')?.getBoundingClientRect();
    const { top = 0, height = 0 } = body.current?.getBoundingClientRect() ?? {};
    // Hidden behind a detail, or empty.
    if (!frame || height === 0) return;
    const row = height / before.current.ids.length;
    const first = Math.floor((Math.max(frame.top, 0) - top) / row) - AHEAD;
    const end = Math.ceil((Math.min(frame.bottom, innerHeight) - top) / row) + AHEAD;
    setRange((old) => (old[0] === first && old[1] === end ? old : [first, end]));
  };
  useEffect(() => {
    const unmounted = new AbortController();
    const options = { capture: true, passive: true, signal: unmounted.signal };
    for (const type of ['scroll', 'resize', 'toggle']) addEventListener(type, measure, options);
    return () => unmounted.abort();
  }, []);
  useLayoutEffect(() => {
    if (before.current.query === query) keepPlace(body.current, before.current.ids, ids);
    else body.current?.closest('.table-frame')?.scrollTo(0, 0);
    before.current = { ids, query };
    measure();
  });
  return range;
}

/** New rows above must not move the rows that the user looks at or points at. */
function keepPlace(body: HTMLElement | null, before: readonly string[], ids: readonly string[]): void {
  const frame = body?.closest('.table-frame');
  if (!body || !frame || before === ids || !(frame.scrollTop > 0 || body.matches(':hover'))) return;
  const row = body.getBoundingClientRect().height / ids.length;
  const at = Math.floor(frame.scrollTop / row);
  const now = ids.indexOf(before[at] ?? '');
  if (now > at) frame.scrollTop += (now - at) * row;
}

/** The tab stop: the row focused last, else the open one, else the first. */
function useCurrentRow(
  body: RefObject<HTMLElement | null>,
  ids: readonly string[],
  selected: string | undefined,
) {
  const [active, set] = useState(selected);
  const [wanted, want] = useState<{ readonly row: string }>();
  const id = [active, selected, ids[0]].find((one) => one !== undefined && ids.includes(one));
  focusRow = (row) => {
    set(row);
    // A new object each time, so that the same row can be focused again.
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
    const next = ids[to ?? -1];
    if (next === undefined) return;
    event.preventDefault();
    focusRow(next);
  };
  return { id, set, move };
}

/** Highlighting more would draw attention to none of them, and cost time in every frame. */
const MAX_NEW = 10;

function useNewRows(ids: readonly string[], query: string, newestFirst = false): readonly string[] {
  const latest = useRef({ ids, query });
  const before = latest.current;
  latest.current = { ids, query };
  if (before.ids === ids || before.query !== query) return [];
  const known = new Set(before.ids);
  const end = newestFirst ? ids.findLastIndex((id) => known.has(id)) : ids.length;
  const added = ids.filter((id, index) => index < end && !known.has(id));
  return added.length > MAX_NEW ? [] : added;
}
