// The columns under the header: the groups, the list of letters, and the letter that is open.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Columns, focusRowOrList, useSelection, useTitle } from '../../pages/components/columns.js';
import { focusedRow } from '../../pages/components/focus.js';
import { useAnnounce } from '../../pages/components/page-frame.js';
import { focusSearch } from '../../pages/components/search-bar.js';
import { countText, nameOf } from './count-text.js';
import { Detail } from './detail.js';
import { DiscardDialog } from './discard-dialog.js';
import { LetterList } from './letter-list.js';
import { usePage, useShortcuts, type Work } from './letters-context.js';
import { ReplayDialog } from './replay-dialog.js';
import { formatFilter } from './route.js';
import { Groups } from './sidebar.js';

export function Layout() {
  const { loaded, reload, route, navigate, work, setWork } = usePage();
  const changed = useRef(false);
  // Counts what was done, after which the open letter is another one, or gone.
  const [version, setVersion] = useState(0);
  const begun = () => {
    changed.current = true;
  };
  const closed = async () => {
    setWork(undefined);
    if (!changed.current) return;
    changed.current = false;
    setVersion((before) => before + 1);
    await reload();
    requestAnimationFrame(() => focusRowOrList(undefined));
  };
  const selected = route.discarded ? undefined : route.letter;
  const ids = loaded && !loaded.discarded ? loaded.letters.map(({ id }) => id) : [];
  const { open, close } = useSelection({ ids, selected, select: (letter) => navigate({ letter }) });
  const listed = loaded?.letters.find(({ id }) => id === selected);
  useTitle(listed && nameOf(listed), 'Dead letters');
  useAnnouncement();
  useLetterKeys(selected);
  const Dialog = work?.kind === 'discard' ? DiscardDialog : ReplayDialog;
  return (
    <>
      <Columns
        sidebarLabel="Dead letters by reason and event"
        sidebar={<Groups />}
        detail={selected && <Detail key={selected} id={selected} version={version} close={close} />}
      >
        <LetterList open={open} />
      </Columns>
      {work && <Dialog {...{ work, begun, closed }} />}
    </>
  );
}

/** Says how many letters match, each time when others are listed. */
function useAnnouncement(): void {
  const { loaded } = usePage();
  const announce = useAnnounce();
  const query = loaded && `${loaded.discarded} ${formatFilter(loaded.filter)}`;
  useEffect(() => {
    if (loaded) announce(countText(loaded));
  }, [query]);
}

/** The keys that search, replay, discard, and update the list. */
function useLetterKeys(selected: string | undefined): void {
  const { loaded, reload, setWork } = usePage();
  const announce = useAnnounce();
  const one = (kind: Work['kind']) => () => {
    const id = selected ?? focusedRow();
    const letter = loaded?.letters.find((each) => each.id === id);
    if (id !== undefined)
      setWork({ kind, target: { id }, what: letter ? nameOf(letter) : 'this dead letter' });
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
        a: () => setWork({ kind: 'replay', target: loaded.filter, what: countText(loaded) }),
      }),
  });
}
