// The columns under the header: the groups, the list of letters, and the letter that is open.
import { useContext, useEffect, useState } from 'preact/hooks';
import { Columns, focusRowOrList, useSelection, useTitle } from '../../pages/components/columns.js';
import { focusedRow } from '../../pages/components/focus.js';
import { AnnounceContext } from '../../pages/components/page-frame.js';
import { focusSearch } from '../../pages/components/search-bar.js';
import { countText, nameOf } from './count-text.js';
import { Detail } from './detail.js';
import { DiscardDialog } from './discard-dialog.js';
import { LetterList } from './letter-list.js';
import { ReplayDialog } from './replay-dialog.js';
import { formatFilter, type Navigate, type Route } from './route.js';
import { useShortcuts } from './shortcuts.js';
import { Groups } from './sidebar.js';
import type { Letters } from './use-letters.js';
import { type Work, WorkContext } from './work.js';

interface LayoutProps {
  readonly letters: Letters;
  readonly route: Route;
  readonly navigate: Navigate;
}

const NONE: readonly string[] = [];

export function Layout({ letters, route, navigate }: LayoutProps) {
  const { loaded } = letters;
  const { work, version, begin, end } = useWork(letters);
  const selected = route.discarded ? undefined : route.letter;
  const ids = loaded && !loaded.discarded ? loaded.letters.map(({ id }) => id) : NONE;
  const { open, close } = useSelection({ ids, selected, select: (letter) => navigate({ letter }) });
  const listed = loaded?.letters.find(({ id }) => id === selected);
  useTitle(listed && nameOf(listed), 'Dead letters');
  useAnnouncement(letters);
  useLetterKeys({ letters, selected, begin });
  const Dialog = work?.kind === 'discard' ? DiscardDialog : ReplayDialog;
  return (
    <WorkContext.Provider value={begin}>
      <Columns
        sidebarLabel="Dead letters by reason and event"
        sidebar={<Groups route={route} navigate={navigate} groups={loaded?.summary.groups ?? []} />}
        detail={
          selected && (
            <Detail
              key={selected}
              id={selected}
              version={version}
              user={loaded?.summary.user}
              close={close}
            />
          )
        }
      >
        <LetterList letters={letters} route={route} navigate={navigate} open={open} />
      </Columns>
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
  readonly begin: (work: Work) => void;
}

/** The keys that search, replay, discard, and update the list. */
function useLetterKeys({ letters, selected, begin }: LetterKeysProps): void {
  const { loaded, reload } = letters;
  const announce = useContext(AnnounceContext);
  const one = (kind: Work['kind']) => () => {
    const id = selected ?? focusedRow();
    const letter = loaded?.letters.find((each) => each.id === id);
    if (id !== undefined) begin({ kind, target: { id }, what: letter ? nameOf(letter) : 'this dead letter' });
  };
  useShortcuts({
    '/': focusSearch,
    u: async () => {
      const found = await reload();
      if (found) announce(countText(found));
    },
    ...(loaded &&
      !loaded.discarded && {
        r: one('replay'),
        d: one('discard'),
        a: () => begin({ kind: 'replay', target: loaded.filter, what: countText(loaded) }),
      }),
  });
}
