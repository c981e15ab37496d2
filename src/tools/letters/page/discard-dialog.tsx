// Discards one letter, or all that matched when the dialog opened.
import { useEffect, useState } from 'preact/hooks';
import { messageOf } from '../../web/components/api-client.js';
import { useLoaded } from '../../web/components/columns.js';
import { Dialog, ScrollArea } from '../../web/components/dialog.js';
import { Field, Form } from '../../web/components/form.js';
import { plural, showInvisible } from '../../web/components/format.js';
import { useAnnounce } from '../../web/components/page-frame.js';
import { api, type Letter, type Target } from './api.js';
import type { WorkDialogProps } from './use-letters.js';

/** Above this, the user confirms by typing the count. */
const MAX_UNTYPED = 100;

export function DiscardDialog({ target, what, closed }: WorkDialogProps) {
  // Only when the dialog opens: letters that arrive later must not be discarded.
  const { data: letters, error } = useLoaded(() => listAll(target), []);
  const ids = 'id' in target ? [target.id] : letters?.map(({ id }) => id);
  const [done, setDone] = useState<number>();
  const announce = useAnnounce();
  const [closing] = useState(() => new AbortController());
  useEffect(() => () => closing.abort(), []);
  /** One by one, until the dialog closes. */
  const discard = async (values: FormData) => {
    if (!ids) return;
    const because = String(values.get('because')).trim();
    // Can stay below the number of ids: some letters may be gone.
    let discarded = 0;
    for (const [index, id] of ids.entries()) {
      if (closing.signal.aborted) break;
      setDone(index);
      try {
        discarded += await api.discard(id, because);
      } catch (error) {
        const before = ids.length > 1 ? `${plural(discarded, 'dead letter')} discarded. ` : '';
        throw new Error(`${before}${messageOf(error)}`);
      }
    }
    announce(`${plural(discarded, 'dead letter')} discarded.`);
  };
  return (
    <Dialog title={`Discard ${what}`} keep closed={closed}>
      <Form
        verb={ids ? `Discard ${plural(ids.length, 'dead letter')} for good` : 'Counting…'}
        submit={discard}
        danger
        disabled={!ids || ids.length === 0 || done !== undefined}
        cancelVerb="Keep"
      >
        <p>
          This deletes the bytes and headers, so that the event can never be replayed. The list of discarded
          dead letters keeps who discarded it, when and why.
        </p>
        <Field
          label="Why"
          name="because"
          required
          autofocus
          maxLength={1_000}
          placeholder="Such as: test data"
        />
        {ids && ids.length > MAX_UNTYPED && (
          <Field
            label={`To confirm, type ${ids.length}`}
            name="count"
            required
            pattern={String(ids.length)}
            hint="The number of dead letters to delete."
          />
        )}
        {error !== undefined && <p class="problem">{messageOf(error)}</p>}
        <NameCounts letters={letters ?? []} />
        {ids && done !== undefined && <progress aria-label="Progress" max={ids.length} value={done} />}
      </Form>
    </Dialog>
  );
}

async function listAll(target: Target): Promise<readonly Letter[]> {
  if ('id' in target) return [];
  const letters = new Map<string, Letter>();
  for (let after: string | null | undefined; after !== null; ) {
    const page = await api.letters(target, false, after);
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
