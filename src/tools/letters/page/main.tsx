// The dead-letter page: its header, the groups, the list of letters, and the open letter.
import { type RenderableProps, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Age, ClockProvider } from '../../web/components/clock.js';
import { Columns, focusRowOrList, useLoaded, useSelection, useTitle } from '../../web/components/columns.js';
import { focusedRow } from '../../web/components/focus.js';
import { showInvisible } from '../../web/components/format.js';
import { Page, Panel, useAnnounce } from '../../web/components/page-frame.js';
import { focusSearch } from '../../web/components/search-bar.js';
import { useRoute } from '../../web/components/use-route.js';
import { api, OTHER_NAMES } from './api.js';
import { countText, nameOf } from './count-text.js';
import { Detail } from './detail.js';
import { DiscardDialog } from './discard-dialog.js';
import { LetterList } from './letter-list.js';
import { ReasonIcon, reasonLabel } from './reason.js';
import { ReplayDialog } from './replay-dialog.js';
import { type Filter, formatFilter, routing } from './route.js';
import {
  anyKind,
  LettersContext,
  SHORTCUTS,
  useLetters,
  usePage,
  useShortcuts,
  type Work,
} from './use-letters.js';
import '../../web/styles/base.css';
import '../../web/styles/components.css';
import '../../web/styles/layout.css';
import './letters.css';

function App() {
  const [route, navigate] = useRoute(routing);
  const letters = useLetters(route);
  const [work, setWork] = useState<Work>();
  const user = letters.loaded?.summary.user;
  const status = user !== undefined && (
    <p class="muted wrap">
      Signed in as <b>{user}</b>
    </p>
  );
  return (
    <ClockProvider>
      <LettersContext.Provider value={{ ...letters, route, navigate, work, setWork }}>
        <Page title="Dead letters" lists="dead letters" status={status} shortcuts={SHORTCUTS}>
          <Layout />
        </Page>
      </LettersContext.Provider>
    </ClockProvider>
  );
}

function Layout() {
  const { loaded, reload, route, navigate, work, setWork } = usePage();
  // Counts closed dialogs, after which the open letter may have changed or be gone.
  const [version, setVersion] = useState(0);
  const closed = async () => {
    setWork(undefined);
    setVersion((before) => before + 1);
    await reload();
    requestAnimationFrame(() => focusRowOrList(undefined));
  };
  const selected = route.discarded ? undefined : route.letter;
  const ids = loaded && !loaded.discarded ? loaded.letters.map(({ id }) => id) : [];
  const { open, close } = useSelection({ ids, selected, select: (letter) => navigate({ letter }) });
  const listed = loaded?.letters.find(({ id }) => id === selected);
  useTitle(listed && nameOf(listed), 'Dead letters');
  const announce = useAnnounce();
  const query = loaded && formatFilter(loaded.filter, { discarded: loaded.discarded });
  // When the filter changes.
  useEffect(() => {
    if (loaded) announce(countText(loaded));
  }, [query]);
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
      {work && <Dialog {...work} closed={closed} />}
    </>
  );
}

/** The count of each reason and event, and of each cause. A click filters by it. */
function Groups() {
  const { loaded } = usePage();
  const groups = loaded?.summary.groups ?? [];
  const counting = async () => loaded && api.causes(anyKind(loaded.filter), loaded.discarded);
  const { causes = [], complete = true } = useLoaded(counting, [loaded?.summary]).data ?? {};
  const sorted = groups.toSorted((a, b) => b.count - a.count || a.eventName.localeCompare(b.eventName));
  if (groups.length === 0) return null;
  return (
    <Panel title="By reason and event" id="groups" count={groups.length}>
      <ul>
        {sorted.map(({ reason, eventName, count, oldest }) => {
          const event = eventName === OTHER_NAMES ? undefined : eventName;
          const found = causes.filter((one) => one.reason === reason && one.eventName === eventName);
          return (
            <li key={`${reason} ${eventName}`}>
              <Group {...{ reason, event, cause: undefined }}>
                <ReasonIcon reason={reason} />
                <span class="wrap">{event === undefined ? 'Other names' : showInvisible(event)}</span>
                <b>{count.toLocaleString('en')}</b>
                <span class="note">
                  {reasonLabel(reason)}, oldest <Age at={oldest} />
                </span>
              </Group>
              {found.length > 0 && (
                <ul class="causes">
                  {found.map(({ cause, count }) => (
                    <li key={cause}>
                      <Group {...{ reason, event, cause }}>
                        <span class="note wrap">{showInvisible(cause)}</span>
                        <b>{count.toLocaleString('en')}</b>
                      </Group>
                    </li>
                  ))}
                </ul>
              )}
            </li>
          );
        })}
      </ul>
      {!complete && <p class="note">Causes are counted in the oldest letters only: there are many.</p>}
    </Panel>
  );
}

/** A second click removes the filter. */
function Group({ children, ...group }: RenderableProps<Pick<Filter, 'reason' | 'event' | 'cause'>>) {
  const { route, navigate } = usePage();
  const { reason, event, cause } = group;
  const chosen = route.reason === reason && route.event === event && route.cause === cause;
  const none = { reason: undefined, event: undefined, cause: undefined };
  return (
    <button
      type="button"
      class="group choice"
      aria-pressed={chosen}
      onClick={() => navigate({ ...(chosen ? none : group), letter: undefined })}
    >
      {children}
    </button>
  );
}

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

render(<App />, document.body);
