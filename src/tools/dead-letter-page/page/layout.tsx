// The columns under the header: the search, the list of letters, and the letter that is open.
import { useContext, useEffect, useState } from 'preact/hooks';
import { focus, focusedRow, focusRow, rowKeys } from '../../pages/components/focus.js';
import { AnnounceContext } from '../../pages/components/page-frame.js';
import { countText, nameOf } from './count-text.js';
import { Detail } from './detail.js';
import { DiscardDialog } from './discard-dialog.js';
import { LetterList } from './letter-list.js';
import { ReplayDialog } from './replay-dialog.js';
import { formatFilter, type Navigate, type Route } from './route.js';
import { useShortcuts } from './shortcuts.js';
import { Groups, Search } from './sidebar.js';
import type { Letters } from './use-letters.js';
import { type Work, WorkContext } from './work.js';

interface LayoutProps {
  readonly letters: Letters;
  readonly route: Route;
  readonly navigate: Navigate;
}

export function Layout({ letters, route, navigate }: LayoutProps) {
  const { work, version, begin, end } = useWork(letters);
  const selected = route.discarded ? undefined : route.letter;
  const user = letters.loaded?.summary.user;
  const open = (id: string) => {
    navigate({ letter: id });
    requestAnimationFrame(() => focus('#detail-title'));
  };
  const close = () => {
    navigate({ letter: undefined });
    requestAnimationFrame(() => focusRowOrList(selected));
  };
  useAnnouncement(letters);
  useLetterKeys({ letters, selected, navigate, begin });
  useShortcuts(selected === undefined ? {} : { Escape: close });
  const Dialog = work?.kind === 'discard' ? DiscardDialog : ReplayDialog;
  return (
    <WorkContext.Provider value={begin}>
      <div class={selected ? 'columns with-detail' : 'columns'}>
        <aside class="sidebar" aria-label="Find dead letters">
          <Search route={route} navigate={navigate} letters={letters} />
          <Groups route={route} navigate={navigate} groups={letters.loaded?.summary.groups ?? []} />
        </aside>
        <main class="main" id="main" tabIndex={-1}>
          <LetterList letters={letters} route={route} navigate={navigate} open={open} />
          {selected && <Detail key={selected} id={selected} version={version} user={user} close={close} />}
        </main>
      </div>
      {work && <Dialog work={work} closed={end} />}
    </WorkContext.Provider>
  );
}

/** The dialog that is open, and what follows when it is closed. */
function useWork({ reload }: Letters) {
  const [work, begin] = useState<Work>();
  // Counts what was done, after which the open letter is another one, or gone.
  const [version, setVersion] = useState(0);
  const end = async (changed: boolean) => {
    begin(undefined);
    if (!changed) return;
    setVersion((before) => before + 1);
    await reload();
    requestAnimationFrame(() => focusRowOrList(undefined));
  };
  return { work, version, begin, end };
}

/** The element with the focus may have disappeared. */
function focusRowOrList(id: string | undefined): void {
  if (id !== undefined) focusRow(id);
  if (document.activeElement === document.body) focus('#list-title');
}

/** Says how many letters match, each time when others are listed. */
function useAnnouncement({ loaded }: Letters): void {
  const announce = useContext(AnnounceContext);
  const query = loaded && `${loaded.discarded} ${formatFilter(loaded.filter)}`;
  useEffect(() => {
    if (loaded) announce(countText(loaded));
  }, [query]);
}

interface LetterKeysProps {
  readonly letters: Letters;
  readonly selected: string | undefined;
  readonly navigate: Navigate;
  readonly begin: (work: Work) => void;
}

/** The keys that move through the letters, replay, discard, and update the list. */
function useLetterKeys({ letters, selected, navigate, begin }: LetterKeysProps): void {
  const { loaded, reload } = letters;
  const announce = useContext(AnnounceContext);
  const ids = loaded?.letters.map(({ id }) => id) ?? [];
  const one = (kind: Work['kind']) => () => {
    const id = selected ?? focusedRow();
    const letter = loaded?.letters.find((each) => each.id === id);
    if (id !== undefined) begin({ kind, target: { id }, what: letter ? nameOf(letter) : 'this dead letter' });
  };
  useShortcuts({
    u: async () => {
      const found = await reload();
      if (found) announce(countText(found));
    },
    ...(loaded &&
      !loaded.discarded && {
        ...rowKeys(ids, selected, (id) => navigate({ letter: id })),
        r: one('replay'),
        d: one('discard'),
        a: () => begin({ kind: 'replay', target: loaded.filter, what: countText(loaded) }),
      }),
  });
}
