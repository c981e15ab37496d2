// The columns under the header: a sidebar, a list, and the detail of the selected row.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { CloseButton } from './button.js';
import { focus, focusedRow, focusSoon } from './focus.js';
import { showInvisible } from './format.js';
import { Icon, type IconName } from './icon.js';
import { useKeys } from './page-frame.js';
import { focusRow } from './table.js';

interface ColumnsProps {
  readonly sidebar: ComponentChildren;
  readonly sidebarLabel: string;
  readonly detail: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Columns({ sidebar, sidebarLabel, detail, children }: ColumnsProps) {
  return (
    <div class={detail ? 'columns with-detail' : 'columns'}>
      <aside class="sidebar" aria-label={sidebarLabel}>
        {sidebar}
      </aside>
      <main class="main" id="main" tabIndex={-1}>
        <div class="list">{children}</div>
        {detail}
      </main>
    </div>
  );
}

interface Selection {
  readonly ids: readonly string[];
  readonly selected: string | undefined;
  readonly select: (id: string | undefined) => void;
}

/** Opens, closes and moves between rows by key, and moves the focus. While a row is open, moving opens the next one. */
export function useSelection({ ids, selected, select }: Selection) {
  const open = (id: string) => {
    select(id);
    focusSoon('#detail-title');
  };
  const close = () => {
    select(undefined);
    requestAnimationFrame(() => focusRowOrList(selected));
  };
  const move = (step: number) => {
    const index = ids.indexOf(selected ?? focusedRow() ?? '');
    const next = index === -1 ? ids[0] : (ids[index + step] ?? ids[index]);
    if (next === undefined) return;
    if (selected !== undefined) select(next);
    // On a narrow screen the detail replaces the list.
    if (document.querySelector('.list')?.checkVisibility()) focusRow(next);
    else focusSoon('#detail-title');
  };
  useKeys({ j: () => move(1), k: () => move(-1), ...(selected !== undefined && { Escape: close }) });
  return { open, close };
}

/** The focused element may have disappeared. */
export function focusRowOrList(id: string | undefined): void {
  if (id !== undefined) focusRow(id);
  requestAnimationFrame(() => {
    if (document.activeElement === document.body) focus('#list-title');
  });
}

interface DetailProps {
  readonly title: ComponentChildren;
  readonly closeLabel: string;
  readonly close: () => void;
  readonly problem: string | undefined;
  readonly head: ComponentChildren;
  readonly children: ComponentChildren;
}

export function DetailFrame({ title, closeLabel, close, problem, head, children }: DetailProps) {
  return (
    <section class="detail stack" aria-labelledby="detail-title">
      <header class="stack">
        <div class="spread">
          <h2 class="wrap" id="detail-title" tabIndex={-1}>
            {title}
          </h2>
          <CloseButton label={closeLabel} close={close} />
        </div>
        {head}
      </header>
      {problem !== undefined && (
        <p class="callout tone-failed wrap" role="status">
          {problem}
        </p>
      )}
      {children}
    </section>
  );
}

interface DiagnosisProps {
  readonly tone: string;
  readonly icon: IconName;
  readonly label: string;
  /** The first sentence is the verdict. */
  readonly text: string;
}

/** Shows the verdict in bold, then the next step. */
export function Diagnosis({ tone, icon, label, text }: DiagnosisProps) {
  const end = text.search(/[.!?] /) + 1 || text.length;
  return (
    <div class={`callout tone-${tone}`}>
      <Icon name={icon} />
      <p class="wrap">
        <span class="visually-hidden">{label}: </span>
        <strong>{showInvisible(text.slice(0, end))}</strong>
        {showInvisible(text.slice(end))}
      </p>
    </div>
  );
}

interface Loaded<Data> {
  readonly data?: Data;
  /** Why the last request failed. The data of an earlier one stays. */
  readonly error?: unknown;
}

/** Loads again when `needs` change, and drops the answer to an outdated request. */
export function useLoaded<Data>(load: () => Promise<Data>, needs: readonly unknown[]): Loaded<Data> {
  const [loaded, setLoaded] = useState<Loaded<Data>>({});
  useEffect(() => {
    let wanted = true;
    load().then(
      (data) => wanted && setLoaded({ data }),
      (error: unknown) => wanted && setLoaded((before) => ({ ...before, error })),
    );
    return () => {
      wanted = false;
    };
  }, needs);
  return loaded;
}

/** Names the document after the open row, for tabs and the browser history. */
export function useTitle(title: string | undefined, page: string): void {
  useEffect(() => {
    document.title = title === undefined ? page : `${title} – ${page}`;
  }, [title, page]);
}
