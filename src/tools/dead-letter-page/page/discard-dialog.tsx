// Discards one letter, or all that match: those that the dialog counted, and none that is kept meanwhile.
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { messageOf } from '../../pages/components/api-client.js';
import { useLoaded } from '../../pages/components/columns.js';
import { Dialog, ScrollArea } from '../../pages/components/dialog.js';
import { Field, Form } from '../../pages/components/form.js';
import { plural, showInvisible } from '../../pages/components/format.js';
import { AnnounceContext } from '../../pages/components/page-frame.js';
import { api, type Letter, type Target } from './api.js';
import type { Work } from './work.js';

interface DiscardDialogProps {
  readonly work: Work;
  /** @param changed whether a letter may have been discarded */
  readonly closed: (changed: boolean) => void;
}

const MAX_REASON_LENGTH = 1_000;
/** More than these are discarded only by someone who types how many. */
const MAX_UNTYPED = 100;

export function DiscardDialog({ work, closed }: DiscardDialogProps) {
  const changed = useRef(false);
  const begun = () => {
    changed.current = true;
  };
  return (
    <Dialog title={`Discard ${work.what}`} keep closed={() => closed(changed.current)}>
      <DiscardForm target={work.target} begun={begun} />
    </Dialog>
  );
}

interface DiscardFormProps {
  readonly target: Target;
  readonly begun: () => void;
}

function DiscardForm({ target, begun }: DiscardFormProps) {
  // Once, when the dialog opens: what matches when the button is pressed may be more.
  const { data: letters, error } = useLoaded(() => listAll(target), []);
  const ids = 'id' in target ? [target.id] : letters?.map(({ id }) => id);
  const [done, setDone] = useState<number>();
  const announce = useContext(AnnounceContext);
  const open = useOpen();
  const discard = async (values: FormData) => {
    if (!ids) return;
    begun();
    const count = await discardAll(ids, String(values.get('because')).trim(), {
      isOpen: () => open.current,
      onDone: setDone,
    });
    announce(`${plural(count, 'dead letter')} discarded.`);
  };
  return (
    <Form
      verb={ids ? `Discard ${plural(ids.length, 'dead letter')} for good` : 'Counting…'}
      submit={discard}
      danger
      disabled={!ids || ids.length === 0 || done !== undefined}
      cancelVerb="Keep"
    >
      <Consequence />
      <Field
        label="Why"
        name="because"
        required
        autofocus
        maxLength={MAX_REASON_LENGTH}
        placeholder="test data"
      />
      {ids && ids.length > MAX_UNTYPED && (
        <Field
          label={`To confirm, type ${ids.length}`}
          name="count"
          required
          pattern={String(ids.length)}
          hint="That is how many dead letters are deleted."
        />
      )}
      {error !== undefined && <p class="problem">{messageOf(error)}</p>}
      <NameCounts letters={letters ?? []} />
      {ids && done !== undefined && <progress aria-label="Progress" max={ids.length} value={done} />}
    </Form>
  );
}

function Consequence() {
  return (
    <p>
      This deletes the bytes and headers, so that the event can never be replayed. Who discarded it, when and
      why stays in the list of discarded dead letters.
    </p>
  );
}

/** Whether the dialog is open still. */
function useOpen(): { readonly current: boolean } {
  const open = useRef(true);
  useEffect(
    () => () => {
      open.current = false;
    },
    [],
  );
  return open;
}

async function listAll(target: Target): Promise<readonly Letter[]> {
  if ('id' in target) return [];
  const letters = new Map<string, Letter>();
  for (let after: string | null | undefined; after !== null; ) {
    const page = await api.letters(target, { discarded: false, after });
    for (const letter of page.letters) letters.set(letter.id, letter);
    after = page.next;
  }
  return [...letters.values()];
}

function NameCounts({ letters }: { letters: readonly Letter[] }) {
  const names = new Map<string, number>();
  for (const { eventName } of letters) names.set(eventName, (names.get(eventName) ?? 0) + 1);
  if (names.size === 0) return null;
  return (
    <ScrollArea label="For each event name">
      <ul>
        {[...names].map(([name, count]) => (
          <li key={name} class="spread">
            <span class="mono wrap">{showInvisible(name)}</span>
            <b>{count.toLocaleString('en')}</b>
          </li>
        ))}
      </ul>
    </ScrollArea>
  );
}

interface DiscardCall {
  readonly isOpen: () => boolean;
  readonly onDone: (done: number) => void;
}

/** One after the other, until the dialog is closed. @returns how many were discarded: others are gone */
async function discardAll(
  ids: readonly string[],
  because: string,
  { isOpen, onDone }: DiscardCall,
): Promise<number> {
  let discarded = 0;
  for (const [done, id] of ids.entries()) {
    if (!isOpen()) break;
    onDone(done);
    try {
      discarded += await api.discard(id, because);
    } catch (error) {
      const before = ids.length > 1 ? `${plural(discarded, 'dead letter')} discarded. ` : '';
      throw new Error(`${before}${messageOf(error)}`);
    }
  }
  return discarded;
}
